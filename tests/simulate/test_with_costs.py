"""Real prices and a real host model go through the simulator, and its steps are accounted for."""

from __future__ import annotations

import pytest

from breakeven.costs.calls import price_calls
from breakeven.costs.host import host_times
from breakeven.diagnose.account import account
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Cpu, Host
from breakeven.results.records import Interval
from breakeven.simulate import run, schedule, step_ms
from breakeven.timeline import OpStream, OpStreamBuilder
from breakeven.timeline.opstream import Call, attributes


def network(size: int) -> OpStream:
    """Three steps of four products, a copy in and a number out."""
    builder = OpStreamBuilder()
    shape = (size, size)
    for step in range(3):
        at = len(builder._rows["call"])
        into = Call(
            "copy::h2d",
            "copy",
            "cuda:0",
            (shape,),
            ("float32",),
            dtype="float32",
            attributes=attributes(bytes=4 * size * size, pinned=False),
        )
        builder.add(into, step=step, phase="input", host_ns=1000, waits_for=at)
        for _ in range(4):
            product = Call("aten::mm", "compute", "cuda:0", (shape, shape), ("float32",) * 2, (False, True), (shape,), "float32")
            builder.add(product, step=step, phase="forward", host_ns=2000, cpu_ns=10_000)
        back = builder.add(
            Call("copy::d2h", "copy", "cuda:0", attributes=attributes(bytes=4, pinned=False)), step=step, host_ns=0
        )
        builder.add(Call("sync::item", "sync", "cuda:0"), step=step, host_ns=0, waits_for=back)
    return builder.build(steps=3)


@pytest.mark.parametrize(("size", "largest"), [(64, "launch"), (8192, "compute")])
def test_the_account_of_a_predicted_step_sums_to_its_mid(size: int, largest: str) -> None:
    stream = network(size)
    gpu = find_gpu("Tesla T4")
    costs = price_calls(stream.calls, gpu)
    cpu = Cpu("test", 2, 2, dispatch_us=5.0)
    host = host_times(stream, costs, cpu_step_ns=Interval(9e4, 1e5, 1.1e5), cpu=cpu, host=Host("here", 1.0, 1.0, 1.0, "test"))
    found = step_ms(stream, costs, host)
    parts = account(run(schedule(stream, costs, host)), "cuda:0").mean_shares()
    assert sum(part.ms for part in parts) == pytest.approx(found.mid)
    assert max(parts, key=lambda part: part.ms).cause == largest
    assert found.low < found.mid < found.high
