"""What to do next: remedies of the findings, each with the gain of a simulation, the largest first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from breakeven.diagnose.evidence import CpuSide, Evidence
from breakeven.diagnose.findings import findings, of_device
from breakeven.remedies import REMEDIES
from breakeven.results import Interval, Remedy
from breakeven.workflows import advice
from breakeven.workflows.advice import LEAST_SHARE, gains
from tests.diagnose.literal_streams import Script, evidence


def told_of(evidence: list[Evidence]) -> tuple[Remedy, ...]:
    """The remedies of the evidence's own findings."""
    return gains(evidence, findings(evidence))


def launches(count: int = 60, gpu: str = "Literal GPU", cpu_ms: float = 5.0) -> Evidence:
    """Steps of many small operations, whose time is their issuing."""
    script = Script(batch=8)
    for step in range(2):
        if step:
            script.next_step()
        for _ in range(count):
            script.op("aten::mul", (8, 8), cpu_us=3)
    one = evidence(script.stream(), cpu_ms=cpu_ms)
    return replace(one, device=replace(one.device, name=gpu))


def named(one: Evidence) -> set[str]:
    return {name for finding in of_device(one) if finding.device == one.device.name for name in finding.remedies}


def test_only_remedies_that_a_finding_names_are_given() -> None:
    one = launches()
    told = told_of([one])
    assert told
    assert {r.id for r in told} <= named(one)
    assert all(r.sentence == REMEDIES[r.id].title and r.device == "Literal GPU" for r in told)


def test_a_gain_is_what_the_rewritten_stream_saves() -> None:
    one = launches()
    found = {r.id: r.gain_ms for r in told_of([one])}
    rewrite = REMEDIES["cuda_graph"].rewrite
    assert rewrite is not None
    assert found["cuda_graph"] == one.price(rewrite(one.stream))


def test_the_largest_part_of_its_own_step_comes_first_and_what_has_no_price_last() -> None:
    """Of two devices too: a step of 600 operations has the larger gain in milliseconds, and that is no reason."""
    both = [launches(60, "A"), launches(600, "B")]
    steps = {one.device.name: one.step_ms for one in both}
    shares = [0.0 if r.gain_ms is None else r.gain_ms.mid / steps[r.device] for r in told_of(both)]
    assert shares == sorted(shares, reverse=True)
    assert {r.device for r in told_of(both)} == {"A", "B"}


def test_what_saves_next_to_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    one = launches()
    assert all(r.gain_ms is None or r.gain_ms.mid >= LEAST_SHARE * one.step_ms for r in told_of([one]))
    monkeypatch.setattr(advice, "LEAST_SHARE", 1.1)
    assert all(r.gain_ms is None for r in told_of([one])), "nothing saves more than the whole step"


def test_no_more_than_a_handful_for_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advice, "MOST", 1)
    assert [r.device for r in told_of([launches(60, "A"), launches(60, "B")])] == ["A", "B"]


def test_going_to_the_cpu_saves_the_difference_with_the_worst_of_both_ends() -> None:
    one = replace(launches(), cpu=CpuSide(Interval(0.1, 0.2, 0.3)))
    step = one.device.step_ms
    assert step is not None
    gain = advice._gain(one, "use_cpu")
    assert gain is not None
    assert (gain.low, gain.mid, gain.high) == pytest.approx((step.low - 0.3, step.mid - 0.2, step.high - 0.1))
    assert advice._gain(replace(one, cpu=CpuSide(None)), "use_cpu") is None


def test_a_device_without_findings_gets_no_advice() -> None:
    assert told_of([]) == ()
