"""What PyTorch's profiler saw of a few steps on the CPU: plain records, made in the child that runs the script."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OperationTime:
    """What one operation takes of a step on the CPU, in one phase, without what it calls.

    Attributes:
        phase: of `timeline.schema.Phase`: backward, input, and forward for all else.
        op: its name, `aten::mm`.
        calls: in one step, median.
        self_ns: in one step, of all its calls, median; PyTorch's dispatch below autograd is in it.
    """

    phase: str
    op: str
    calls: float
    self_ns: float


@dataclass(frozen=True)
class Looked:
    """A few steps under the profiler.

    Attributes:
        step_ns: length of one, the profiler's own cost in it; median.
        events: that the profiler recorded in one, median.
        operations: what takes its time.
    """

    step_ns: float
    events: float
    operations: tuple[OperationTime, ...]
