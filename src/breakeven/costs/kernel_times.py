"""What the kernels of a step take on the CPU, by PyTorch's own profiler, put in the place of what the recording says of them.

The recording's times of single operations are those of cold caches, of few steps, and of a machine that was busy just then; how
they compare with each other is right, their sum is not. The profiler knows the sum, phase by phase. Which of its time is kernel
and which dispatch, calls without any kernel tell: views take nothing but dispatch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts
from breakeven.costs.host import cpu_split
from breakeven.costs.host_classes import VIEW, host_class
from breakeven.machine.records import Cpu
from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.looked import Looked, OperationTime
from breakeven.timeline.schema import Phase
from breakeven.timeline.settle import least_cpu

#: What the profiler adds for each event: `bridge.profiler_event_us` of `data/host.json`.
_EVENT_NS: Final = 666.0
#: Phases that the profiler and the recording tell alike; the rest (forward, loss, clipping, the optimizer) is one.
_MARKED: Final = (Phase.BACKWARD, Phase.INPUT)


def kernel_times(operations: Iterable[OperationTime]) -> Mapping[str, float]:
    """Nanoseconds of kernels in one step: per phase of `_MARKED` and, as `forward`, of all others; empty: nothing is known.

    >>> kernel_times([OperationTime("forward", "aten::t", 2, 2_000), OperationTime("forward", "aten::mm", 1, 31_000)])
    {'forward': 30000.0}
    """
    operations = list(operations)
    views = [one for one in operations if host_class(one.op) == VIEW]
    calls = sum(one.calls for one in views)
    if not calls:
        return {}
    dispatch = sum(one.self_ns for one in views) / calls
    found: dict[str, float] = {}
    for one in operations:
        if host_class(one.op) != VIEW:
            phase = one.phase if one.phase in _MARKED else Phase.FORWARD
            found[phase] = found.get(phase, 0.0) + max(0.0, one.self_ns - dispatch * one.calls)
    return found


def held_to(stream: OpStream, costs: CallCosts, looked: Looked, *, cpu_step_ns: float, cpu: Cpu, rate: float = 1.0) -> OpStream:
    """The stream with times on the CPU that sum, phase by phase, to what the profiler saw; as it is where that saw nothing.

    What counts is the part of its steps that are kernels: another process may have taken more, or less, of the machine then.
    Names cannot be compared one by one: what the GPU runs as one call (an LSTM, a list of tensors) the CPU runs as many.

    Args:
        stream: as recorded.
        costs: of its calls.
        looked: what the profiler saw.
        cpu_step_ns: one step of the undisturbed pass, ns.
        cpu: that it was recorded on.
        rate: that CPU's framework time relative to the reference host, by the probe.
    """
    times = kernel_times(looked.operations)
    seen_ns, bare_ns = sum(times.values()), looked.step_ns - looked.events * _EVENT_NS
    if seen_ns <= 0 or bare_ns <= 0:
        return stream
    scale = cpu_step_ns / max(bare_ns, seen_ns)
    recorded = cpu_split(least_cpu(stream), costs, rate, cpu).kernel_ns
    kernels = np.zeros(len(recorded))
    for phase, inside in _groups(stream).items():
        weights = np.where(inside, recorded, 0.0)
        if weights.sum() > 0:
            kernels += weights * (times.get(phase, 0.0) * scale * stream.steps / weights.sum())
    return edit.with_cpu(stream, np.where(np.isnan(edit.cpu_ns(stream)), np.nan, kernels))


def _groups(stream: OpStream) -> dict[str, NDArray[np.bool_]]:
    phase = stream.rows[schema.ROW_PHASE.name]
    marked = {name: np.asarray((phase == name).to_numpy(), dtype=np.bool_) for name in _MARKED}
    rest: NDArray[np.bool_] = ~np.logical_or.reduce(list(marked.values()))
    return {**marked, Phase.FORWARD: rest}
