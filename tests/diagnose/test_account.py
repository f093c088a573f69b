"""The account of a device: literal timelines, and what holds of every timeline."""

from __future__ import annotations

import numpy as np
import pytest
from account_cases import CASES, LANES, Case
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.diagnose.account import account, shares
from breakeven.diagnose.cpu_account import cpu_account
from breakeven.diagnose.host_state import CAUSES
from breakeven.simulate import plain, run
from breakeven.timeline import Lane, Origin, Timeline, TimelineBuilder
from breakeven.timeline.intervals import Intervals


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.claim)
def test_a_hand_made_timeline_gets_the_account_written_beside_it(case: Case) -> None:
    (only,) = account(case.timeline(), "cuda:0").steps
    assert {cause: ns // 1000 for cause, ns in only.parts_ns.items() if ns} == case.expect
    assert sum(only.parts_ns.values()) == only.duration_ns


@st.composite
def drafts(draw: st.DrawFn) -> list[dict[str, object]]:
    """Events on the lanes of the cases: nested on hosts, one after another on the device; links anywhere that is earlier."""
    events: list[dict[str, object]] = []
    for letter in "hast":
        at = 0
        for _ in range(draw(st.integers(1, 6))):
            start = at + draw(st.integers(0, 2000))
            length = draw(st.integers(0, 3000))
            at = start + length
            host = letter in "ha"
            kind = draw(
                st.sampled_from(["host", "launch", "sync", "alloc", "copy"] if host else ["compute", "copy", "communication"])
            )
            cause = draw(st.sampled_from([None, None, "input", "warmup", "memory"])) if host else None
            limit = draw(st.sampled_from([None, "compute", "bandwidth", "small_kernel"]))
            events.append(
                {"lane": letter, "kind": kind, "start_ns": start, "duration_ns": length, "cause": cause, "limited_by": limit}
            )
            if host and length > 2:
                inner = draw(st.integers(1, length - 1))
                events.append({"lane": letter, "kind": "launch", "start_ns": start + inner, "duration_ns": (length - inner) // 2})
    for event in events:
        if event["lane"] in ("s", "t"):
            able = [i for i, e in enumerate(events) if e["kind"] == "launch" and e["start_ns"] <= event["start_ns"]]  # type: ignore[operator]
            event["link"] = draw(st.sampled_from([-1, *able]))
    return events


def build(events: list[dict[str, object]], shift: int = 0, order: list[int] | None = None) -> Timeline:
    order = list(range(len(events))) if order is None else order
    place = {old: new for new, old in enumerate(order)}
    builder = TimelineBuilder()
    for at in order:
        event = dict(events[at])
        lane = builder.lane(LANES[str(event.pop("lane"))])
        link = int(event.pop("link", -1))  # type: ignore[call-overload]
        event["start_ns"] = int(event["start_ns"]) + shift  # type: ignore[call-overload]
        builder.add("x", lane=lane, link=place.get(link, -1), **event)  # type: ignore[arg-type]
    return builder.build(Origin("imported"))


WINDOWS = Intervals(np.array([0, 500, 4000]), np.array([500, 4000, 30_000]))


@given(drafts())
@settings(max_examples=60, deadline=None)
def test_parts_are_never_negative_and_sum_to_the_step_to_the_nanosecond(events: list[dict[str, object]]) -> None:
    for step in account(build(events), "cuda:0", WINDOWS).steps:
        assert sum(step.parts_ns.values()) == step.duration_ns
        assert min(step.parts_ns.values()) >= 0
        assert tuple(step.parts_ns) == CAUSES


@given(drafts(), st.integers(0, 10**15))
@settings(max_examples=30, deadline=None)
def test_the_account_does_not_depend_on_when_the_clock_began(events: list[dict[str, object]], shift: int) -> None:
    moved = Intervals(WINDOWS.start + shift, WINDOWS.end + shift)
    assert parts(account(build(events), "cuda:0", WINDOWS)) == parts(account(build(events, shift), "cuda:0", moved))


@given(drafts(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_account_does_not_depend_on_the_order_of_events(events: list[dict[str, object]], random: object) -> None:
    order = list(range(len(events)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert parts(account(build(events), "cuda:0", WINDOWS)) == parts(account(build(events, order=order), "cuda:0", WINDOWS))


@given(drafts())
@settings(max_examples=30, deadline=None)
def test_a_window_cut_in_two_is_accounted_for_as_the_whole(events: list[dict[str, object]]) -> None:
    timeline = build(events)
    whole = account(timeline, "cuda:0", Intervals(np.array([0]), np.array([30_000]))).steps[0]
    halves = account(timeline, "cuda:0", WINDOWS).steps
    assert dict(whole.parts_ns) == {cause: sum(half.parts_ns[cause] for half in halves) for cause in CAUSES}


def parts(found: object) -> list[dict[str, int]]:
    return [dict(step.parts_ns) for step in found.steps]  # type: ignore[attr-defined]


def test_without_marks_the_account_is_of_the_device_from_its_first_event_to_its_last() -> None:
    builder = TimelineBuilder()
    stream = builder.lane(Lane("stream", "cuda:0"))
    builder.add("gemm", kind="compute", lane=stream, start_ns=100, duration_ns=10, limited_by="compute")
    builder.add("gemm", kind="compute", lane=stream, start_ns=150, duration_ns=10, limited_by="compute")
    found = account(builder.build(Origin("imported")), "cuda:0")
    assert (found.marked, found.steps[0].start_ns, found.steps[0].duration_ns) == (False, 100, 60)


def test_an_unknown_device_is_named_with_those_that_are_there() -> None:
    with pytest.raises(ValueError, match=r"no event on 'cuda:7'; devices with lanes: cuda:0"):
        account(CASES[0].timeline(), "cuda:7")


def test_the_median_step_is_one_of_the_steps_and_its_shares_sum_to_one() -> None:
    schedule = plain([10, 10] * 5, [30, 0] * 5, waits=[-1, 0, -1, 2, -1, 4, -1, 6, -1, 8], step=np.repeat(range(5), 2), skip=1)
    found = account(run(schedule), "cuda:0")
    assert found.median() in found.steps
    assert sum(part.share for part in shares(found.median())) == pytest.approx(1)
    assert sum(part.ms for part in found.mean_shares()) == pytest.approx(sum(s.duration_ns for s in found.steps) / 4 / 1e6)


class TestOfTheCpu:
    """On the CPU: compute, bandwidth, overhead, input, other."""

    def check(self, events: list[tuple[str, str, int, int, str | None]], expect: dict[str, int]) -> None:
        builder = TimelineBuilder()
        main, marks = builder.lane(Lane("host", "cpu", "main")), builder.lane(Lane("host", "cpu", "steps"))
        for name, kind, start, end, cause in events:
            lane = marks if kind == "step" else main
            builder.add(name, kind=kind, lane=lane, start_ns=start * 1000, duration_ns=(end - start) * 1000, cause=cause)
        (only,) = cpu_account(builder.build(Origin("imported"))).steps
        assert {cause: ns // 1000 for cause, ns in only.parts_ns.items() if ns} == expect
        assert sum(only.parts_ns.values()) == only.duration_ns

    def test_the_innermost_operation_works_and_what_lies_around_it_is_overhead(self) -> None:
        self.check(
            [("step", "step", 0, 100, None), ("aten::linear", "host", 10, 90, None), ("aten::t", "host", 12, 20, None),
             ("aten::addmm", "host", 20, 88, None)],
            {"overhead": 12, "compute": 68, "other": 20},
        )  # fmt: skip

    def test_traffic_is_told_from_arithmetic_and_a_loader_counts_as_input_with_all_that_it_does(self) -> None:
        self.check(
            [("step", "step", 0, 100, None), ("loader", "host", 0, 40, "input"), ("aten::stack", "host", 5, 30, None),
             ("aten::mul", "host", 45, 70, None), ("aten::mm", "host", 70, 100, None)],
            {"input": 40, "bandwidth": 25, "compute": 30, "overhead": 5},
        )  # fmt: skip

    def test_an_operation_that_calls_a_small_one_still_owns_its_own_work(self) -> None:
        self.check(
            [("step", "step", 0, 100, None), ("aten::addmm", "host", 0, 100, None), ("aten::copy_", "host", 5, 10, None)],
            {"compute": 95, "bandwidth": 5},
        )

    def test_a_long_unexplained_pause_is_other(self) -> None:
        self.check(
            [("step", "step", 0, 3000, None), ("aten::mm", "host", 0, 100, None), ("aten::mm", "host", 2900, 3000, None)],
            {"compute": 200, "other": 2800},
        )
