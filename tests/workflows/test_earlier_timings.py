"""`breakeven time` beside its earlier runs: which of them count, and what becomes of the interval."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from breakeven.measure.request import CODE, FUNCTION, JOB, TimeRequest
from breakeven.report.time import render_time
from breakeven.results.records import Interval
from breakeven.results.timing import Doubt, TimeReport, Timing
from breakeven.store.timings import read_timings
from breakeven.workflows.earlier import beside_earlier

MATMUL = TimeRequest("matmul", JOB)


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path / "home"))


def report(ms: float, *, device: str = "cpu", busy: bool = False, threads: int = 2) -> TimeReport:
    doubts = (Doubt("busy_machine", "others work"),) if busy else ()
    timing = Timing(device, device, device, Interval(ms * 0.999, ms, ms * 1.001), doubts=doubts)
    return TimeReport("matmul", (timing,), machine={"cpu": "a cpu", "cores": 2, "threads": threads})


def run(found: TimeReport, request: TimeRequest = MATMUL) -> Timing:
    return beside_earlier(found, request).timings[0]


def test_the_first_runs_stand_for_themselves_and_later_ones_hold_the_spread() -> None:
    first = [run(report(ms)) for ms in (7.0, 8.0, 7.0)]
    assert [(timing.runs, timing.this_run_ms) for timing in first] == [(0, None)] * 3
    later = run(report(8.0))
    assert later.runs == 4
    assert later.this_run_ms == Interval(8.0 * 0.999, 8.0, 8.0 * 1.001)
    assert later.call_ms is not None
    assert later.call_ms.low < 7.0 < 8.0 == later.call_ms.mid < later.call_ms.high


def test_runs_that_agree_leave_the_interval_as_it_is() -> None:
    timing = [run(report(7.0)) for _ in range(6)][-1]
    assert timing.call_ms == timing.this_run_ms
    assert timing.runs == 6


@pytest.mark.parametrize(
    "other", [{"busy": True}, {"device": "cuda"}, {"threads": 1}], ids=["a busy machine", "another device", "other threads"]
)
def test_runs_under_other_conditions_do_not_count(other: dict[str, object]) -> None:
    for ms in (7.0, 14.0, 7.0, 14.0, 7.0):
        run(report(ms, **other))  # type: ignore[arg-type]
    assert run(report(7.0)).runs == 0


def test_another_job_of_the_same_machine_lends_its_spread_but_not_its_time() -> None:
    for ms in (70.0, 80.0, 70.0, 80.0):
        run(report(ms), TimeRequest("x @ x", CODE, setup="x = 1"))
    timing = run(report(1.0))
    assert timing.runs == 4
    assert timing.call_ms is not None
    assert 0.5 < timing.call_ms.low < 0.9


def test_a_function_takes_the_spread_and_gives_none_since_it_may_be_another_one_next_time() -> None:
    function = TimeRequest("train.py:step", FUNCTION)
    for ms in (1.0, 9.0, 1.0, 9.0):
        run(report(ms), function)
    assert read_timings() == ()
    for ms in (7.0, 8.0, 7.0, 8.0):
        run(report(ms))
    assert run(report(3.0), function).runs == 4


def test_what_failed_is_not_remembered() -> None:
    failed = replace(report(7.0), failed="no_answer")
    assert beside_earlier(failed, MATMUL) is failed
    assert read_timings() == ()


@pytest.mark.parametrize("content", [b"", b"{", b'{"readings": 3}', b"\xff\xfe", b"[]"])
def test_a_file_that_cannot_be_read_is_as_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "timings.json").write_bytes(content)
    assert run(report(7.0)).runs == 0
    assert len(read_timings()) == 1


@pytest.mark.parametrize("readings", [b"[]", b'{"of": "another form"}'])
def test_a_file_of_a_newer_version_is_left_as_it_is(readings: bytes, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    content = b'{"schema": "breakeven/timings/9", "readings": ' + readings + b"}"
    (tmp_path / "home" / "timings.json").write_bytes(content)
    assert run(report(7.0)).runs == 0
    assert (tmp_path / "home" / "timings.json").read_bytes() == content


def test_a_folder_that_cannot_be_written_takes_no_answer_away(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file where the folder would be")
    assert run(report(7.0)).call_ms is not None


def test_only_the_last_readings_are_kept() -> None:
    for at in range(405):
        run(report(7.0 + at % 2))
    assert len(read_timings()) == 400


def test_the_page_says_what_this_run_alone_would_have_said() -> None:
    from rich.console import Console

    for ms in (7.0, 8.0, 7.0, 8.0):
        found = beside_earlier(report(ms), MATMUL)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(render_time(found, 100))
    said = " ".join(console.export_text().split())
    assert "this run alone would say ±0.1 %; 4 runs on this machine lie further apart" in said
