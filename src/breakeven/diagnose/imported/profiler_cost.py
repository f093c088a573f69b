"""What the profiler itself added to a step: what it recorded in it, times what one recording costs.

Only the host's time grows by it: where the device does not wait for the host, the step is as long without. What it does not
know: the speed of the traced host, and costs that a profiler pays after the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.first_calls import RUNTIME_CALL
from breakeven.results.records import Interval

#: Microseconds that one recorded thing costs the host: low, middle, high. Low and middle of operations: profiler_event_us of
#: costs/data/host.json (0.86 on a host of scale 2, so 0.4 on the reference). High: with shapes and concrete inputs, 21 on that
#: host under load. Frames: 0.42 on that host (torch 2.13, `with_stack`, an empty function 2000 times, best of 15 rounds).
#: Calls of the runtime: assumed to cost about what an operation does, within a factor of three; nobody has measured it for us.
_OPERATION_US: Final = (0.3, 0.9, 6.0)
_FRAME_US: Final = (0.1, 0.3, 1.0)
_CALL_US: Final = (0.3, 0.8, 2.0)


@dataclass(frozen=True)
class Recorded:
    """Things that the profiler recorded on the host in a step, on average."""

    operations: float
    frames: float
    calls: float


def recorded(evidence: TraceEvidence) -> Recorded:
    """Count them."""
    frames = int((evidence.timeline.on_lanes("python") & evidence.within).sum())
    calls = len(evidence.host_in_steps.named(RUNTIME_CALL))
    operations = len(evidence.host_in_steps) - calls
    return Recorded(operations / evidence.count, frames / evidence.count, calls / evidence.count)


def without_profiler(evidence: TraceEvidence, source: str) -> Interval | None:
    """The step as it would be without the profiler; None where the trace cannot tell.

    Args:
        evidence: of the trace.
        source: kineto, nsys or xprof; only the costs of the first are known.
    """
    if source != "kineto" or evidence.steps is None:
        return None
    seen = recorded(evidence)
    waiting = evidence.account_ms.get("overhead" if evidence.on_cpu else "launch", 0.0)
    low, mid, high = (
        (seen.operations * operation + seen.frames * frame + seen.calls * call) / 1000.0
        for operation, frame, call in zip(_OPERATION_US, _FRAME_US, _CALL_US, strict=True)
    )
    step = evidence.step_ms.mid
    saved = [min(cost, 0.9 * waiting) for cost in (high, mid, low)]
    return Interval(*(step - part for part in saved))
