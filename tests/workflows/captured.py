"""Captures as a training of one small layer leaves them, in round numbers, without running anything."""

from __future__ import annotations

from breakeven.capture.request import Place, ScriptEnd, StepGroup, TimedPass
from breakeven.capture.result import CaptureResult, VirtualPass
from breakeven.timeline import OpStream, OpStreamBuilder, Site, schema
from breakeven.timeline.opstream import Call

LINE = Site("train.py", 7, "loss = net(x)")
ADD = Call(
    "aten::mul", schema.Kind.COMPUTE, "cuda:0", ((32, 64), (32, 64)), ("float32",) * 2, (False,) * 2, ((32, 64),), "float32"
)
WAIT = Call("host::input", schema.Kind.HOST, "cpu")


def stream(operations: int = 30, *, steps: int = 3, wait_ns: int = 0) -> OpStream:
    """Steps of so many small operations, each after a wait for its batch where one is given."""
    builder = OpStreamBuilder()
    for step in range(steps):
        if wait_ns:
            builder.add(WAIT, step=step, phase=schema.Phase.INPUT, site=LINE, host_ns=wait_ns)
        for _ in range(operations):
            builder.add(ADD, step=step, phase=schema.Phase.FORWARD, site=LINE, cpu_ns=4_000)
    return builder.build(steps=steps, batch=32)


def timed(*samples_ms: float, warmup: int = 0, waits_ms: tuple[float, ...] = (), end: ScriptEnd | None = None) -> TimedPass:
    """A timing pass with these steps; none: nothing could be timed."""
    group = StepGroup(
        Place("optimizer", "train.py", 9), "cuda", tuple(int(ms * 1e6) for ms in samples_ms),
        tuple(int(ms * 1e6) for ms in waits_ms), warmup,
    )  # fmt: skip
    known = bool(samples_ms)
    return TimedPass(
        "step" if known else None, group if known else None, (group,) if known else (), end or ScriptEnd("budget"),
        versions={"torch": "2.13.0"},
    )  # fmt: skip


def caught(pass_on_cpu: TimedPass | None, made: OpStream | None) -> CaptureResult:
    """Both passes together."""
    rows = 0 if made is None else len(made)
    return CaptureResult(pass_on_cpu, VirtualPass(made, ScriptEnd("budget"), device_rows=rows))
