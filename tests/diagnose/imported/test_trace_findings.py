"""What is said of a trace: each cause where it is, and nothing where there is none."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from tests.readers import made

from breakeven.diagnose.imported.evidence import TraceEvidence, evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.diagnose.imported.own_times import own_times
from breakeven.readers import read
from breakeven.workflows.compare import compare

Event = dict[str, Any]


def evidence(path: pathlib.Path, events: list[Event]) -> TraceEvidence:
    """Evidence on a trace of these events."""
    (trace,), _ = read([made.kineto(path, events)])
    return evidence_from(trace.timeline, trace.devices, trace.shapes)


def check(path: pathlib.Path, events: list[Event], first: str | None, share: tuple[float, float] = (0.0, 1.0)) -> None:
    """This finding leads, with a price in this part of the step; None: none above 5 % of the step, advice aside."""
    seen = evidence(path, events)
    assert sum(seen.account_ms.values()) == pytest.approx(seen.step_ms.mid)
    found = [f for f in trace_findings(seen) if f.cause not in ("compute", "bandwidth", "small_kernel")]
    if first is None:
        assert [f.id for f in found if f.price_ms and f.price_ms.mid > 0.05 * seen.step_ms.mid] == []
        return
    assert found[0].id == first
    assert found[0].price_ms is not None
    assert share[0] <= found[0].price_ms.mid / seen.step_ms.mid <= share[1]


def each(events: list[Event], cat: str) -> list[Event]:
    return [e for e in events if e.get("cat") == cat]


def busy(steps: int = 4) -> list[Event]:
    """Steps whose kernels follow each other without a pause."""
    events = made.kineto_events(steps, loader_us=0)
    for at, kernel in enumerate(each(events, "kernel")):
        kernel.update(ts=1.0e6 + 40 + at * made.STEP_US / 3, dur=made.STEP_US / 3)
    return events


def test_a_busy_device_has_no_finding(tmp_path: pathlib.Path) -> None:
    """Advice about kernels aside."""
    check(tmp_path / "t.json", busy(), None)


def test_a_loader_in_the_way_leads(tmp_path: pathlib.Path) -> None:
    """Half of each step is the loader's."""
    check(tmp_path / "t.json", made.kineto_events(4, loader_us=500), "input_bound", (0.4, 0.6))


def test_a_slow_host_leads(tmp_path: pathlib.Path) -> None:
    """No loader: the device waits for launches."""
    check(tmp_path / "t.json", made.kineto_events(4, loader_us=0), "launch_bound", (0.5, 1.0))


def test_a_first_launch_of_half_a_second_is_set_up(tmp_path: pathlib.Path) -> None:
    """A trace of one pass, most of which the first launch takes."""
    events = [e for e in made.kineto_events(1, loader_us=0) if not str(e.get("name")).startswith("ProfilerStep")]
    calls, kernels, operations = (each(events, cat) for cat in ("cuda_runtime", "kernel", "cpu_op"))
    for event in [*calls[1:], *kernels[1:], *operations[1:]]:
        event["ts"] += 500_000
        if event is kernels[1]:
            event["name"] = "another_kernel"
    calls[1].update(ts=calls[1]["ts"] - 499_900, dur=499_900)
    check(tmp_path / "t.json", events, "warmup", (0.9, 1.0))


@pytest.mark.parametrize("recurring", [True, False])
def test_allocations_are_set_up_unless_they_recur(tmp_path: pathlib.Path, recurring: bool) -> None:
    """In every step they are `memory`; in the first alone they are set-up."""
    events = made.kineto_events(4, loader_us=0)
    for at, operation in enumerate(each(events, "cpu_op")):
        if at % 3 == 2 and (recurring or at == 2):
            events.append({**operation, "cat": "cuda_runtime", "name": "cudaFree", "ts": operation["ts"] + 400, "dur": 200})
    seen = evidence(tmp_path / "t.json", events)
    parts = {cause: float(part.sum()) for cause, part in seen.parts_ms.items()}
    assert (parts["memory"] > 0) == recurring
    assert (parts["warmup"] > 0) != recurring


def test_steps_are_found_by_the_optimizer_where_none_are_marked(tmp_path: pathlib.Path) -> None:
    """A step ends where the optimizer's step does."""
    events = [e for e in made.kineto_events(4) if not str(e.get("name")).startswith("ProfilerStep")]
    for step in range(4):
        at = 1.0e6 + step * made.STEP_US + 600
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#SGD.step", "pid": 1, "tid": 1, "ts": at, "dur": 20}
        )
    seen = evidence(tmp_path / "t.json", events)
    assert seen.steps is not None
    assert (seen.steps.how, len(seen.steps)) == ("optimizer", 4)
    assert seen.step_ms.mid == pytest.approx(made.STEP_US / 1000)


def test_a_stub_after_the_last_step_is_no_step(tmp_path: pathlib.Path) -> None:
    """The profiler stopped just after a mark began."""
    events = made.kineto_events(3)
    at = 1.0e6 + 3 * made.STEP_US
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#8", "pid": 1, "tid": 1, "ts": at, "dur": 5})
    seen = evidence(tmp_path / "t.json", events)
    assert seen.steps is not None
    assert len(seen.steps) == 3


def test_a_trace_replays_to_its_own_steps(tmp_path: pathlib.Path) -> None:
    """The simulator, fed with its times, says what was recorded."""
    seen = evidence(tmp_path / "t.json", made.kineto_events(4))
    played = own_times(seen)
    assert played is not None
    assert played.step_ms() == pytest.approx(seen.step_ms.mid, rel=0.01)


def test_compare_names_the_one_thing_that_differs(tmp_path: pathlib.Path) -> None:
    """Two traces that differ in the loader alone."""
    one = made.kineto(tmp_path / "a.json", made.kineto_events(6, loader_us=500))
    two = made.kineto(tmp_path / "b.json", made.kineto_events(6, loader_us=10))
    report = compare(one, two)
    assert (report.changes[0].cause, report.changes[0].id) == ("input", "input_bound")
    assert report.changes[0].ms < 0
    assert report.changes[0].real


def unmarked(steps: int, *, backward: bool) -> list[Event]:
    """Steps that nothing marks: a copy of the batch, six kernels from one thread, and six from autograd's where it trains."""
    events: list[Event] = []
    for step in range(steps):
        begin = 1.0e6 + step * made.STEP_US
        names = ["Memcpy HtoD (Pinned -> Device)", *(f"kernel_{i}" for i in range(12))]
        for i, name in enumerate(names):
            call, at = 100 * step + i, begin + 60 * i
            thread = 2 if backward and i > 6 else 1
            cat = "gpu_memcpy" if i == 0 else "kernel"
            events += [
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": thread, "ts": at, "dur": 8,
                 "args": {"correlation": call}},
                {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": at + 20, "dur": 30,
                 "args": {"device": 0, "stream": 7, "correlation": call}},
            ]  # fmt: skip
    return events


def test_steps_are_found_by_what_repeats_where_nothing_marks_them(tmp_path: pathlib.Path) -> None:
    """A training loop: each step begins with the copy of its batch."""
    seen = evidence(tmp_path / "t.json", unmarked(5, backward=True))
    assert seen.steps is not None
    assert (seen.steps.how, len(seen.steps)) == ("period", 5)
    assert "no step is marked" in seen.steps.note
    assert seen.step_ms.mid == pytest.approx(made.STEP_US / 1000)


def test_layers_that_repeat_are_no_steps(tmp_path: pathlib.Path) -> None:
    """The same from one thread alone: layers of a model that infers could look so."""
    assert evidence(tmp_path / "t.json", unmarked(5, backward=False)).steps is None


def test_a_loop_that_repeats_only_in_part_has_no_steps(tmp_path: pathlib.Path) -> None:
    """Every other step runs other kernels."""
    events = unmarked(6, backward=True)
    for at, kernel in enumerate(each(events, "kernel")):
        if (at // 12) % 3 == 1:
            kernel["name"] = f"other_{at}"
    assert evidence(tmp_path / "t.json", events).steps is None
