"""The CPU's side: which samples count, what the recording is put right by, and an account that sums to the step."""

from __future__ import annotations

import pytest

from breakeven.capture.result import CaptureResult
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Cpu
from breakeven.timeline import edit
from breakeven.workflows.cpu_side import cpu_side, recorded, step_of
from tests.workflows.captured import caught, stream, timed

CPU = Cpu("test", 2, 1, peak_gflops=50.0, bandwidth_gb_s=10.0, dispatch_us=8.0)
GPU = find_gpu("T4")


def test_steps_of_warm_up_do_not_count() -> None:
    step = step_of(timed(90, 80, 2, 2, 2, 2, 2, 2, warmup=2))
    assert step is not None
    assert (step.mid, step.n) == (2e6, 6)


def test_where_all_was_warm_up_what_there_is_counts() -> None:
    step = step_of(timed(4, 4, 4, warmup=3))
    assert step is not None
    assert (step.mid, step.n) == (4e6, 3)


def test_where_nothing_was_timed_there_is_no_step() -> None:
    assert step_of(None) is None
    assert step_of(timed()) is None
    assert cpu_side(timed(), stream(), CPU, GPU).step_ms is None


def test_where_nothing_was_recorded_there_is_no_stream_and_no_account() -> None:
    assert recorded(CaptureResult(timed(1, 1))) is None
    assert recorded(caught(timed(1, 1), None)) is None
    assert recorded(caught(timed(1, 1), stream(0))) is None
    side = cpu_side(timed(1, 1, 1, 1, 1), None, CPU, GPU)
    assert side.step_ms is not None
    assert (side.step_ms.mid, side.account) == (1.0, ())


@pytest.mark.parametrize("step_ms", [0.05, 1.0, 40.0])
def test_the_account_sums_to_the_measured_step(step_ms: float) -> None:
    side = cpu_side(timed(*(step_ms,) * 6), stream(), CPU, GPU)
    assert side.step_ms is not None
    assert side.step_ms.mid == pytest.approx(step_ms)
    assert sum(part.ms for part in side.account) == pytest.approx(step_ms)
    assert sum(part.share for part in side.account) == pytest.approx(1.0)
    assert min(part.ms for part in side.account) >= 0


def test_waits_for_input_are_as_long_as_the_timing_pass_found_them() -> None:
    """The recorder slows the making of a batch; its median without the recorder is 2 ms, warm-up left out."""
    timing = timed(90, 5, 5, 5, 5, 5, warmup=1, waits_ms=(80, 2, 2, 2, 2, 9))
    settled = recorded(caught(timing, stream(wait_ns=7_000_000)))
    assert settled is not None
    assert edit.host_ns(settled)[::31].tolist() == [2e6] * 3
    side = cpu_side(timing, settled, CPU, GPU)
    assert {part.cause: part.ms for part in side.account}["input"] == pytest.approx(2.0)


def test_without_a_loader_the_recorded_waits_stand() -> None:
    settled = recorded(caught(timed(5, 5, 5, waits_ms=(0, 0, 0)), stream(wait_ns=7_000_000)))
    assert settled is not None
    assert edit.host_ns(settled)[::31].tolist() == [7e6] * 3


@pytest.mark.parametrize("count", [1, 2, 4])
def test_few_samples_that_are_long_are_surer_than_few_that_are_short(count: int) -> None:
    """They have averaged over their own noise; how far the machine drifts between them stays."""
    long, short = step_of(timed(*(1000.0,) * count)), step_of(timed(*(0.1,) * count))
    assert long is not None
    assert short is not None
    assert long.low <= long.mid <= long.high
    assert long.high / long.mid <= short.high / short.mid
    assert (long.mid, short.mid) == (1e9, 1e5)


def test_the_only_step_of_a_script_may_be_mostly_set_up_where_it_is_short() -> None:
    """A script that failed after its first step of 3.4 ms: later ones would have taken 0.3 ms."""
    short, long = step_of(timed(3.4)), step_of(timed(14_000.0))
    assert short is not None
    assert long is not None
    assert short.low < 0.3e6
    assert long.low / long.mid > 0.8
