"""The CPU's side of an answer: the measured step with its interval, where it goes, and the recording put right by it."""

from __future__ import annotations

from statistics import median

from breakeven.capture.request import TimedPass
from breakeven.capture.result import CaptureResult
from breakeven.costs.calls import price_calls
from breakeven.costs.cpu import cpu_account
from breakeven.diagnose.evidence import CpuSide
from breakeven.machine.records import Cpu, Gpu
from breakeven.results import Interval
from breakeven.stats import Estimate, estimate
from breakeven.timeline import OpStream
from breakeven.timeline.settle import settled
from breakeven.units import NS_PER_MS


def step_of(timed: TimedPass | None) -> Estimate | None:
    """The measured step in ns; None: nothing was measured."""
    if timed is None or timed.principal is None:
        return None
    samples = timed.principal.measured_ns or timed.principal.samples_ns
    return estimate(samples, skip_warmup=False) if samples else None


def recorded(caught: CaptureResult) -> OpStream | None:
    """The recorded stream with its host times settled by the timing pass; None: nothing was recorded."""
    stream = caught.virtual.stream if caught.virtual else None
    if stream is None or not len(stream):
        return None
    return settled(stream, input_ns=_input_ns(caught.cpu))


def cpu_side(timed: TimedPass | None, stream: OpStream | None, cpu: Cpu, gpu: Gpu) -> CpuSide:
    """The measured step and its account (which needs the recording: without one it is empty); any GPU's costs serve."""
    step = step_of(timed)
    if step is None:
        return CpuSide(None, cpu=cpu)
    in_ms = Interval(step.low / NS_PER_MS, step.mid / NS_PER_MS, step.high / NS_PER_MS)
    if stream is None:
        return CpuSide(in_ms, cpu=cpu)
    in_ns = Interval(step.low, step.mid, step.high)
    account = cpu_account(stream, price_calls(stream.calls, gpu), cpu_step_ns=in_ns, cpu=cpu, input_ns=_input_ns(timed))
    return CpuSide(in_ms, account, cpu)


def _input_ns(timed: TimedPass | None) -> float | None:
    """What a step waits for its batch, ns; None: no loader was seen."""
    if timed is None or timed.principal is None:
        return None
    group = timed.principal
    waits = group.input_wait_ns[group.warmup :] or group.input_wait_ns
    return float(median(waits)) if waits and any(waits) else None
