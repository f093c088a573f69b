"""The CPU's side of an answer: the measured step with its interval, where it goes, and the recording put right by it."""

from __future__ import annotations

import linecache
from dataclasses import replace
from statistics import median

from breakeven.capture.request import Beside, TimedPass
from breakeven.capture.result import CaptureResult
from breakeven.costs.calls import price_calls
from breakeven.costs.cpu import cpu_account
from breakeven.costs.host import probed_rate
from breakeven.costs.host_model import host_model
from breakeven.costs.kernel_times import held_to
from breakeven.diagnose.evidence import CpuSide
from breakeven.machine.records import Cpu, Gpu
from breakeven.results import Interval
from breakeven.results.facts import Denormals
from breakeven.stats import Estimate, estimate
from breakeven.stats.estimate import FEW
from breakeven.stats.ratio import ratio
from breakeven.timeline import OpStream, Site
from breakeven.timeline.settle import settled
from breakeven.units import NS_PER_MS

#: How far a shared machine's speed drifts within a minute: one loop timed eight times gave 243 to 442 steps a second, a relative
#: standard deviation of 0.18.
DRIFT = 0.18
#: Measured time from which on noise within a sample no longer matters beside that drift; assumed.
SETTLED_NS = 100 * NS_PER_MS


def step_of(timed: TimedPass | None) -> Estimate | None:
    """The measured step in ns; None: nothing was measured."""
    if timed is None or timed.principal is None:
        return None
    samples = timed.principal.measured_ns or timed.principal.samples_ns
    if not samples:
        return None
    step = estimate(samples, skip_warmup=False)
    if step.n >= FEW:
        return step
    step = _by_length(step, sum(samples))
    return _first_call(step) if len(timed.principal.samples_ns) == 1 else step


def _by_length(step: Estimate, total_ns: float) -> Estimate:
    """Few samples, but long ones, have averaged over their own noise: the interval follows from how long was measured."""
    spread = DRIFT + (1.0 - DRIFT) / (1.0 + total_ns / SETTLED_NS)
    low, high = min(step.mid, max(step.low, step.mid / (1 + spread))), max(step.mid, min(step.high, step.mid * (1 + spread)))
    return replace(step, low=low, high=high)


def _first_call(step: Estimate) -> Estimate:
    """The first step holds what is set up once. How much is not known: one as short as `SETTLED_NS` may be set-up for half."""
    return replace(step, low=min(step.low, step.mid * step.mid / (step.mid + SETTLED_NS)))


def recorded(caught: CaptureResult) -> OpStream | None:
    """The recorded stream with its host times settled by the timing pass; None: nothing was recorded."""
    stream = caught.virtual.stream if caught.virtual else None
    if stream is None or not len(stream):
        return None
    return settled(stream, input_ns=input_ns(caught.cpu))


def cpu_side(timed: TimedPass | None, stream: OpStream | None, cpu: Cpu, gpu: Gpu) -> CpuSide:
    """The measured step and its account (which needs the recording: without one it is empty); any GPU's costs serve."""
    step = step_of(timed)
    if step is None:
        return CpuSide(None, cpu=cpu)
    in_ms = Interval(step.low / NS_PER_MS, step.mid / NS_PER_MS, step.high / NS_PER_MS)
    matched, flushed = _mended(in_ms, timed.matched if timed else None), _mended(in_ms, timed.flushed if timed else None)
    if stream is None:
        return CpuSide(in_ms, cpu=cpu, matched_ms=matched, flushed_ms=flushed)
    in_ns, costs = Interval(step.low, step.mid, step.high), price_calls(stream.calls, gpu)
    if timed is not None and timed.looked is not None:
        rate = probed_rate(cpu, host_model())
        stream = held_to(stream, costs, timed.looked, cpu_step_ns=step.mid, cpu=cpu, rate=rate)
    account = cpu_account(stream, costs, cpu_step_ns=in_ns, cpu=cpu, input_ns=input_ns(timed))
    return CpuSide(in_ms, account, cpu, matched, flushed)


def _mended(step: Interval, beside: Beside | None) -> Interval | None:
    """The step under a setting: as many times the measured one as steps after the change are those right before it."""
    if beside is None or min(len(beside.before_ns), len(beside.after_ns)) < FEW:
        return None
    times = ratio(estimate(beside.after_ns, skip_warmup=False), estimate(beside.before_ns, skip_warmup=False))
    return Interval(step.mid * times.low, step.mid * times.mid, step.mid * times.high)


def denormals_of(timed: TimedPass | None) -> tuple[Denormals, ...]:
    """What had decayed into denormal numbers when the timing pass ended, at the line whose step it was; the worst tensor only."""
    if timed is None or timed.principal is None or not timed.decayed:
        return ()
    place, worst = timed.principal.place, timed.decayed[0]
    site = Site(place.file, place.line, linecache.getline(place.file, place.line).strip()) if place.line else None
    return (Denormals(site, worst.what, worst.share),)


def threads_of(timed: TimedPass | None) -> int | None:
    """Threads that PyTorch uses inside one operation of the script; None: not known."""
    return None if timed is None else timed.threads


def input_ns(timed: TimedPass | None) -> float | None:
    """What a step waits for its batch, ns; None: no loader was seen."""
    if timed is None or timed.principal is None:
        return None
    group = timed.principal
    waits = group.input_wait_ns[group.warmup :] or group.input_wait_ns
    return float(median(waits)) if waits and any(waits) else None
