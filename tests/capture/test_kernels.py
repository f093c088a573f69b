"""After the timing a few steps run under PyTorch's profiler: what they say of kernels, and that nothing is lost by it."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from breakeven.capture.kernels import EDGE, Event, looked
from breakeven.capture.result import CaptureResult
from tests.capture.sources import training

#: One step: an operation inside another, a backward pass, the optimizer, and a line of Python that is no operation.
STEP: list[tuple[str, int, int]] = [
    ("aten::linear", 0, 100),
    ("aten::addmm", 25, 70),
    ("autograd::engine::evaluate_function: AddmmBackward0", 200, 60),
    ("aten::mm", 210, 40),
    ("Optimizer.step#SGD.step", 300, 50),
    ("aten::add_", 310, 30),
    ("aten::t", 400, 2),
]


def steps(*slower: float, edge_after: int = 1000) -> list[Event]:
    """Steps one after the other, each so many times as slow, with the marks of their edges around them."""
    events: list[Event] = [(EDGE, 0, 1, 1)]
    at = 0
    for factor in slower:
        events += [(name, at + int(start * factor) + 2, int(long * factor), 1) for name, start, long in STEP]
        at += int(edge_after * factor)
        events.append((EDGE, at, 1, 1))
    return events


def test_an_operation_has_its_own_time_in_its_phase() -> None:
    found = looked(reversed(steps(1, 1, 1)))
    assert found is not None
    assert {(one.phase, one.op): (one.calls, one.self_ns) for one in found.operations} == {
        ("forward", "aten::linear"): (1, 30),
        ("forward", "aten::addmm"): (1, 70),
        ("backward", "aten::mm"): (1, 40),
        ("forward", "aten::add_"): (1, 30),
        ("forward", "aten::t"): (1, 2),
    }
    assert found.step_ns == 1000
    assert found.events == len(STEP) + 1


def test_one_step_that_another_process_disturbed_changes_nothing() -> None:
    assert looked(steps(1, 1, 9, 1, 1)) == looked(steps(1, 1, 1, 1, 1))


def test_another_threads_operations_are_not_inside_of_what_runs_beside_them() -> None:
    beside = [(EDGE, at, 1, 1) for at in (0, 100, 200, 300)]
    for at in (0, 100, 200):
        beside += [("aten::mm", at + 10, 80, 1), ("aten::mul", at + 20, 10, 2)]
    found = looked(beside)
    assert found is not None
    assert {one.op: one.self_ns for one in found.operations} == {"aten::mm": 80, "aten::mul": 10}


@pytest.mark.parametrize("events", [[], steps(), steps(1), steps(1, 1)])
def test_too_few_steps_say_nothing(events: list[Event]) -> None:
    assert looked(events) is None


def test_the_look_comes_after_the_timing_and_counts_its_operations(run_script: Callable[..., CaptureResult]) -> None:
    timed = run_script(training(steps=400)).cpu
    assert timed is not None
    assert timed.looked is not None
    assert timed.principal is not None
    assert timed.end.how == "budget"
    calls = {(one.phase, one.op): one.calls for one in timed.looked.operations}
    assert calls["forward", "aten::addmm"] == 1
    assert calls["backward", "aten::mm"] >= 1


def test_nothing_of_the_look_is_shown(run_script: Callable[..., CaptureResult], capfd: pytest.CaptureFixture[str]) -> None:
    """The profiler once wrote its starts and stops among what the script says."""
    timed = run_script(training(steps=400)).cpu
    assert timed is not None
    assert timed.looked is not None
    said = capfd.readouterr()
    assert "profiler_start" not in said.out + said.err


@pytest.mark.parametrize("steps_of_script", [1, 26, 30])
def test_a_script_that_ends_before_or_while_it_is_looked_at_has_its_times(
    run_script: Callable[..., CaptureResult], steps_of_script: int
) -> None:
    timed = run_script(training(steps=steps_of_script)).cpu
    assert timed is not None
    assert timed.principal is not None
    assert not timed.end.failed


def test_a_failure_after_the_timing_is_not_the_answers(run_script: Callable[..., CaptureResult]) -> None:
    body = "if torch._C._autograd._profiler_enabled(): raise ValueError('late')"
    timed = run_script(training(body, steps=400)).cpu
    assert timed is not None
    assert timed.principal is not None
    assert timed.end.how == "budget"


def test_a_profiler_of_the_scripts_own_is_left_alone(run_script: Callable[..., CaptureResult]) -> None:
    own = "from torch.profiler import profile\nprofile().__enter__()\n"
    timed = run_script(own + training(steps=400)).cpu
    assert timed is not None
    assert timed.looked is None
    assert timed.principal is not None


def test_a_next_step_that_never_comes_is_not_waited_for(run_script: Callable[..., CaptureResult]) -> None:
    began = time.monotonic()
    body = "import threading\nif torch._C._autograd._profiler_enabled(): threading.Event().wait(600)"
    timed = run_script(training(body, steps=400)).cpu
    assert timed is not None
    assert timed.principal is not None
    assert time.monotonic() - began < 300
