"""The batch from which the GPU wins: found between, or said to be never or always."""

from __future__ import annotations

import numpy as np
import pytest
from literal_streams import BACKWARD, PRICING, Script

from breakeven.diagnose.break_even import Curve, break_even, crossing, grid
from breakeven.diagnose.cpu_scaling import cpu_scaling
from breakeven.machine.records import Cpu
from breakeven.results.records import Interval
from breakeven.timeline import OpStream
from breakeven.whatif.scale_batch import scale_batch

CPU = Cpu("two cores", 2, 2, peak_gflops=100, bandwidth_gb_s=10, dispatch_us=2)


def products(batch: int, *, cpu_us: float, width: int = 512, count: int = 20) -> OpStream:
    """Products of a batch with a weight: `cpu_us` each on the CPU."""
    script = Script(batch)
    for step in range(3):
        if step:
            script.next_step()
        for k in range(count):
            script.op(
                "aten::addmm", (width,), (batch, width), (width, width), out=(batch, width), fixed=(True, False, True),
                phase=BACKWARD if k % 2 else "forward", cpu_us=cpu_us,
            )  # fmt: skip
    return script.stream()


def test_the_crossing_is_found_between_never_and_always() -> None:
    """20 products of 9 µs each for 8 rows, 2 of them set-up; the GPU needs 10 µs of host for each, whatever the rows."""
    slow = Cpu("one core", 1, 1, peak_gflops=10, bandwidth_gb_s=10, dispatch_us=2)
    found = break_even(products(8, cpu_us=9, width=64), PRICING.step, Interval(0.175, 0.18, 0.185), slow, "Literal GPU")
    assert found is not None
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.parameter == "batch"
    assert found.today == 8
    assert found.low <= found.value <= found.high
    assert 8 < found.value < 12
    assert found.sentence.startswith("From a batch of about ")


def test_a_cpu_that_is_slow_today_makes_the_gpu_win_always() -> None:
    found = break_even(products(8, cpu_us=5000), PRICING.step, Interval(98, 100, 102), None, "Literal GPU")
    assert found is not None
    assert found.value is None
    assert "wins at every batch size" in found.sentence


def test_a_step_that_is_all_overhead_never_crosses() -> None:
    script = Script(8)
    for step in range(3):
        if step:
            script.next_step()
        for _ in range(100):
            script.op("aten::embedding", (1000, 1), fixed=(True,), cpu_us=0.1)
    found = break_even(script.stream(), PRICING.step, Interval(0.1, 0.1, 0.1), CPU, "Literal GPU")
    assert found is not None
    assert found.value is None
    assert "does not win" in found.sentence


def test_an_unknown_batch_has_no_break_even() -> None:
    assert break_even(Script().stream(), PRICING.step, Interval(1, 1, 1), CPU, "Literal GPU") is None


def test_the_crossing_is_interpolated_in_logarithms() -> None:
    """CPU = batch, GPU = 10 at any: they cross at 10, between 4 and 16, where a straight line through the times is not."""
    batches = np.array([1.0, 4.0, 16.0, 64.0])
    both = Curve(batches, np.repeat(batches[:, None], 5, axis=1), np.full((4, 5), 10.0))
    found = crossing(both, "T4", 4)
    assert (found.value, found.low, found.high) == (10.0, 10.0, 10.0)


def test_draws_that_never_cross_leave_the_upper_end_open() -> None:
    batches = np.array([1.0, 10.0, 100.0])
    gpu = np.array([[50.0] * 8 + [1000.0] * 2] * 3)
    found = crossing(Curve(batches, np.repeat(batches[:, None], 10, axis=1), gpu), "T4", 10)
    assert found.value == 50.0
    assert found.high is None
    assert "over 100" in found.sentence


def test_the_grid_holds_today_and_doubles() -> None:
    assert grid(1)[:4] == [1, 2, 4, 8]
    assert 100 in grid(100)
    assert max(grid(100)) == 102_400


def test_the_cpus_curve_goes_through_todays_measurement() -> None:
    stream = products(64, cpu_us=100)
    step = Interval(2.4, 2.5, 2.6)
    apart = cpu_scaling(stream, step, CPU)
    assert apart.step(stream, 1.0).mid == pytest.approx(2.5)
    assert apart.rest_ns == pytest.approx(500_000)


def test_the_cpus_operations_grow_with_their_work_and_its_python_does_not() -> None:
    stream = products(64, cpu_us=400)
    apart = cpu_scaling(stream, Interval(10, 10, 10), CPU)
    larger = apart.step(scale_batch(stream, 640), 10)
    # 20 operations of 400 µs, of which 2 µs are set-up, ten times; 2 ms of Python once
    assert larger.mid == pytest.approx(2 + 20 * (0.002 + 0.398 * 10))
    assert larger.low < larger.mid < larger.high


def test_a_product_with_a_vector_hardly_grows_until_its_weights_are_used_often() -> None:
    """One row of 512 × 512 moves a megabyte of weights: sixteen rows move hardly more."""
    stream = products(1, cpu_us=110)
    apart = cpu_scaling(stream, Interval(2.5, 2.5, 2.5), CPU)
    assert apart.step(scale_batch(stream, 8), 8).mid < 1.5 * 2.5
