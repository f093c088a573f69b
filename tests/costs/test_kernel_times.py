"""Times of kernels on the CPU: their sum is the profiler's, how they compare the recording's."""

from __future__ import annotations

import pytest

from breakeven.costs.calls import price_calls
from breakeven.costs.cpu import cpu_account
from breakeven.costs.kernel_times import held_to
from breakeven.machine.records import Cpu
from breakeven.results.records import Interval
from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.looked import Looked, OperationTime
from tests.costs.builders import GPU, call, stream, ten_us

CPU = Cpu("test", 2, 2, peak_gflops=50.0, bandwidth_gb_s=10.0)
MM = call("aten::mm", inputs=((512, 512), (512, 512)), outputs=((512, 512),), dtype="float32")
WIDE = call("aten::mul", inputs=((1_000_000,), (1_000_000,)), outputs=((1_000_000,),), dtype="float32")
BACKWARD = {"phase": schema.Phase.BACKWARD}


#: Of a step of 10 ms without the profiler's own 2 ms: 4 ms forward and 2 ms backward in kernels, at 1 us of dispatch a call.
LOOKED = Looked(
    12_000_000.0, 2_000_000.0 / 666.0,
    (
        OperationTime("forward", "aten::t", 10, 10_000), OperationTime("forward", "aten::mm", 1, 3_001_000),
        OperationTime("forward", "aten::mul", 1, 1_001_000), OperationTime("backward", "aten::mm", 1, 2_001_000),
    ),
)  # fmt: skip


def recorded(scale: float) -> OpStream:
    """Three times as long in the product as in the other operation, on a machine so many times as slow."""
    return stream(
        (MM, {"cpu_ns": int(6_000_000 * scale)}), (WIDE, {"cpu_ns": int(2_000_000 * scale)}),
        (MM, {"cpu_ns": int(9_000_000 * scale), **BACKWARD}),
    )  # fmt: skip


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_phases_sum_to_what_the_profiler_saw_however_slow_the_recording_was(scale: float) -> None:
    made = recorded(scale)
    held = held_to(made, price_calls(made.calls, GPU, pricer=ten_us), LOOKED, cpu_step_ns=10e6, cpu=CPU)
    assert edit.cpu_ns(held) == pytest.approx([3e6, 1e6, 2e6], rel=1e-3)


def test_a_step_that_took_longer_when_it_was_timed_has_longer_kernels() -> None:
    made = recorded(1.0)
    held = held_to(made, price_calls(made.calls, GPU, pricer=ten_us), LOOKED, cpu_step_ns=20e6, cpu=CPU)
    assert edit.cpu_ns(held).sum() == pytest.approx(12e6, rel=1e-3)


def test_the_account_has_the_kernels_and_the_rest_is_overhead() -> None:
    made = recorded(1.0)
    costs = price_calls(made.calls, GPU, pricer=ten_us)
    held = held_to(made, costs, LOOKED, cpu_step_ns=10e6, cpu=CPU)
    account = {share.cause: share.ms for share in cpu_account(held, costs, cpu_step_ns=Interval(1e7, 1e7, 1e7), cpu=CPU)}
    assert account["compute"] + account["bandwidth"] == pytest.approx(6.0, rel=0.02)
    assert account["overhead"] == pytest.approx(4.0, rel=0.03)


@pytest.mark.parametrize(
    "looked",
    [
        Looked(12e6, 0.0, ()),
        Looked(12e6, 0.0, (OperationTime("forward", "aten::mm", 1, 1e6),)),
        Looked(1e6, 9e3, LOOKED.operations),
    ],
    ids=["nothing seen", "no call without a kernel", "shorter than the profiler's own cost"],
)
def test_a_look_that_cannot_tell_changes_nothing(looked: Looked) -> None:
    made = recorded(1.0)
    held = held_to(made, price_calls(made.calls, GPU, pricer=ten_us), looked, cpu_step_ns=10e6, cpu=CPU)
    assert edit.cpu_ns(held) == pytest.approx(edit.cpu_ns(made))
