"""The step at other batch sizes, by device, with its account: the table that a page computes with as one moves its slider."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts
from breakeven.diagnose.break_even import BATCH, grid
from breakeven.diagnose.cpu_scaling import CpuScaling, cpu_scaling
from breakeven.diagnose.evidence import Evidence
from breakeven.diagnose.forecast import forecast
from breakeven.diagnose.pricing import MANY_ROWS, Pricing
from breakeven.diagnose.verdict import CPU, draws_of
from breakeven.results.pictured import SizeCurve, SizePoint, Sizes
from breakeven.results.records import DeviceResult, Interval, Share
from breakeven.simulate import StepPrediction
from breakeven.timeline import OpStream
from breakeven.whatif.scale_batch import scale_batch

#: Causes of the CPU's account that grow with its operations' work.
_WORK = ("compute", "bandwidth")


@dataclass(frozen=True)
class Ground:
    """What one GPU's answer stands on: its evidence and how its streams are priced."""

    evidence: Evidence
    pricing: Pricing[CallCosts]


def sizes(grounds: tuple[Ground, ...]) -> Sizes | None:
    """The table for the CPU and these GPUs; None where the batch is not known or the CPU was not measured."""
    first = grounds[0].evidence if grounds else None
    if first is None or first.stream.batch is None or first.stream.batch < 1 or first.cpu.step_ms is None:
        return None
    if first.cpu.step_ms.mid <= 0:
        return None
    stream, today = first.stream, first.stream.batch
    streams = {batch: stream if batch == today else scale_batch(stream, batch) for batch in grid(today)}
    apart = cpu_scaling(stream, first.cpu.step_ms, first.cpu.cpu)
    on_cpu = {batch: _cpu_point(first, apart, scaled, batch, today) for batch, scaled in streams.items()}
    curves = [SizeCurve(CPU, "cpu", tuple(on_cpu.values()))]
    for ground in grounds:
        points = _gpu_points(ground, streams, on_cpu)
        curves.append(SizeCurve(ground.evidence.device.name, "gpu", tuple(points)))
    return Sizes(BATCH, today, tuple(curves))


def _cpu_point(evidence: Evidence, apart: CpuScaling, scaled: OpStream, batch: int, today: int) -> SizePoint:
    measured = evidence.cpu.step_ms
    assert measured is not None  # asked before
    if batch == today:
        return SizePoint(batch, measured, evidence.cpu.account, source="measured")
    step = apart.step(scaled, batch / today)
    return SizePoint(batch, step, _grown(evidence.cpu.account, step.mid, batch / today))


def _grown(account: tuple[Share, ...], step_ms: float, growth: float) -> tuple[Share, ...]:
    """The account at another batch: input grows with the samples, work takes what is left, the rest stays as it is."""
    fixed = {p.cause: p.ms * (growth if p.cause == "input" else 1.0) for p in account if p.cause not in _WORK}
    work = {p.cause: p.ms for p in account if p.cause in _WORK}
    left, own = max(0.0, step_ms - sum(fixed.values())), sum(work.values())
    grown = fixed | {cause: left * ms / own if own > 0 else 0.0 for cause, ms in work.items()}
    whole = sum(grown.values()) or 1.0
    return tuple(Share(p.cause, step_ms * grown[p.cause] / whole, grown[p.cause] / whole) for p in account)


def _gpu_points(ground: Ground, streams: dict[int, OpStream], on_cpu: dict[int, SizePoint]) -> list[SizePoint]:
    evidence, pricing = ground.evidence, ground.pricing
    told = evidence.device
    step_of = pricing.scaled(pricing.step(evidence.stream))
    points = []
    for batch, stream in streams.items():
        step = step_of(stream)
        device = told if stream is evidence.stream else _device(told.name, stream, pricing, step)
        if device.step_ms is None:
            continue
        factor, chance = _against(on_cpu[batch].step_ms, step.draws)
        points.append(SizePoint(batch, device.step_ms, device.account, factor, chance))
    return points


def _device(name: str, stream: OpStream, pricing: Pricing[CallCosts], step: StepPrediction) -> DeviceResult:
    """The step and its account; a long stream has no account, since playing one takes seconds."""
    if len(stream) > MANY_ROWS:
        return DeviceResult(name, "gpu", "predicted", Interval(step.low, step.mid, step.high))
    return forecast(name, stream, pricing, step)


def _against(cpu: Interval, gpu: NDArray[np.float64]) -> tuple[Interval, float]:
    """The CPU's step over the GPU's, and the probability that it is over 1 (`diagnose/verdict.py` counts in the same way)."""
    ratio = draws_of(cpu, len(gpu)) / gpu
    low, mid, high = (float(q) for q in np.quantile(ratio, [0.05, 0.5, 0.95]))
    return Interval(low, mid, high), float(((ratio > 1).sum() + 0.5 * (ratio == 1).sum() + 0.5) / (len(ratio) + 1))
