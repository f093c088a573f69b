"""What the page of `why` shows beyond the answer: it agrees with the answer where they speak of the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from breakeven.machine.records import Cpu
from breakeven.results.pictured import Pictured
from breakeven.workflows import why as workflow
from breakeven.workflows.picturing import pictured
from breakeven.workflows.probing import Probed
from breakeven.workflows.why import Answered, WhyRequest, answered
from tests.workflows.captured import LINE, caught, stream, timed

CPU = Cpu("test", 2, 1, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=8.0)
GPUS = ("Tesla T4", "RTX A4500")


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Answered, Pictured]:
    """An answer for two GPUs to a capture that is already there, and its picture."""
    (tmp_path / LINE.file).write_text("\n" * (LINE.line - 1) + LINE.text + "\n")
    monkeypatch.chdir(tmp_path)

    def capture(request: object, on_progress: object, meanwhile: Any) -> object:  # as the workflow calls it
        meanwhile()
        return caught(timed(*(3.0,) * 9), stream(60))

    monkeypatch.setattr(workflow, "capture", capture)
    monkeypatch.setattr(workflow, "probed", lambda *_: Probed(CPU))
    answer = answered(WhyRequest("train.py", gpus=GPUS))
    return answer, pictured(answer)


def test_at_todays_batch_the_table_of_sizes_is_the_answer(both: tuple[Answered, Pictured]) -> None:
    """Steps, accounts, factors and probabilities are those of the devices and verdicts."""
    answer, picture = both
    assert picture.sizes is not None
    assert (picture.sizes.parameter, picture.sizes.today) == ("batch", 32)
    for curve, device in zip(picture.sizes.curves, answer.report.devices, strict=True):
        (today,) = (point for point in curve.points if point.value == 32)
        assert (curve.device, today.step_ms, today.account) == (device.name, device.step_ms, device.account)
    for curve, verdict in zip(picture.sizes.curves[1:], answer.report.verdicts, strict=True):
        (today,) = (point for point in curve.points if point.value == 32)
        assert today.factor is not None
        assert today.probability is not None
        gpu_wins = verdict.device == curve.device
        expected = verdict.factor.mid if gpu_wins else 1 / verdict.factor.mid
        assert today.factor.mid == pytest.approx(expected, rel=1e-6)
        chance = today.probability if gpu_wins else 1 - today.probability
        assert chance == pytest.approx(verdict.probability, abs=0.01)


def test_steps_grow_with_the_batch_and_accounts_sum_to_them(both: tuple[Answered, Pictured]) -> None:
    sizes = both[1].sizes
    assert sizes is not None
    for curve in sizes.curves:
        steps = [point.step_ms.mid for point in curve.points]
        assert [point.value for point in curve.points] == sorted(point.value for point in curve.points)
        assert all(after >= before * 0.999 for before, after in pairwise(steps))
        for point in curve.points:
            assert sum(part.ms for part in point.account) == pytest.approx(point.step_ms.mid)
            assert sum(part.share for part in point.account) == pytest.approx(1.0)


def test_the_played_step_is_as_long_as_the_answer_says(both: tuple[Answered, Pictured]) -> None:
    """Host first, device below; every event inside, each with the line that it is blamed on."""
    answer, picture = both
    assert [step.device for step in picture.steps] == list(GPUS)
    for step, device in zip(picture.steps, answer.report.devices[1:], strict=True):
        assert device.step_ms is not None
        assert step.length_ns / 1e6 == pytest.approx(device.step_ms.mid, rel=0.02)
        assert step.lanes == ("Host main", "GPU stream 0")
        assert len({len(column) for column in vars(step.bars).values()}) == 1
        assert len(step.bars.lane) >= 2 * 60
        assert {step.places[i] for i in step.bars.line} == {f"{LINE.file}:{LINE.line}"}
        assert {step.causes[i] for lane, i in zip(step.bars.lane, step.bars.cause, strict=True) if lane == 0} == {"launch"}
        assert step.left_out == 0


def test_lines_have_prices_and_their_source(both: tuple[Answered, Pictured]) -> None:
    picture = both[1]
    (line,) = picture.lines
    assert (line.file, line.line, line.text) == (LINE.file, LINE.line, LINE.text)
    assert line.host_ms > 0
    assert set(line.device_ms) == set(GPUS)
    assert min(line.device_ms.values()) > 0
    assert picture.sources[LINE.file].splitlines()[LINE.line - 1] == LINE.text


def test_an_answer_without_a_stream_has_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "capture", lambda *_: caught(timed(*(3.0,) * 9), None))
    monkeypatch.setattr(workflow, "probed", lambda *_: Probed(CPU))
    assert pictured(answered(WhyRequest("train.py"))) == Pictured()
