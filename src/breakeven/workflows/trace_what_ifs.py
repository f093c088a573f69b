"""The what-ifs of `breakeven trace`: what the remedies would save, and the same job on other GPUs, by playing the trace again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import hypot
from pathlib import Path
from typing import Final

import numpy as np

from breakeven.costs.calls import price_calls
from breakeven.costs.host import HostRate, times_at
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.other_gpu import Known, ratios
from breakeven.diagnose.imported.own_times import own_times
from breakeven.diagnose.imported.what_if import MOST_ISSUES, WhatIf, priced_sites, scaled
from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Gpu
from breakeven.readers import Trace
from breakeven.readers.profiles.files import sources
from breakeven.readers.profiles.operations import Operations, operations_of
from breakeven.remedies import REMEDIES
from breakeven.results.records import DeviceResult, Finding, Interval, Remedy
from breakeven.results.traced import TraceReport
from breakeven.simulate import step_ms
from breakeven.timeline import schema
from breakeven.workflows.replay import HOST_LOG_SIGMA, catalogued

#: A remedy that saves less than this part of a step is not worth a line.
_LEAST_SHARE: Final = 0.02
#: Spread (log scale) of hosts about the reference host, where a trace of a CPU says nothing about the GPU's (costs.host).
_UNKNOWN_HOST: Final = 0.55


@dataclass(frozen=True)
class WhatIfs:
    """What is looked at.

    Attributes:
        files: of the call.
        trace: the rank.
        evidence: on its device.
        played: its own schedule; None: the trace does not link the device's work to the host, or is too long.
    """

    files: tuple[Path, ...]
    trace: Trace
    evidence: TraceEvidence
    played: WhatIf | None

    @classmethod
    def of(cls, files: Sequence[Path], trace: Trace, evidence: TraceEvidence) -> WhatIfs:
        """Play the trace as it is."""
        own = own_times(evidence)
        played = None if own is None or len(own.schedule) > MOST_ISSUES else WhatIf.of(own, evidence)
        return cls(tuple(files), trace, evidence, played)


def with_gains(report: TraceReport, asked: WhatIfs) -> TraceReport:
    """The report with what each remedy that its findings name would save, and each line that waits."""
    if asked.played is None:
        return report
    findings = tuple(priced_sites(asked.played, f) if f.id == "sync_bound" and f.sites else f for f in report.findings)
    return replace(report, findings=findings, remedies=_remedies(asked.played, findings))


def _remedies(played: WhatIf, findings: Sequence[Finding]) -> tuple[Remedy, ...]:
    """Those with a price first, the largest gain first; what a trace cannot show comes after, unpriced."""
    step = played.evidence.step_ms.mid
    named = dict.fromkeys(name for finding in findings for name in finding.remedies)
    told = [Remedy(name, played.evidence.device, played.gain(name), REMEDIES[name].title) for name in named]
    worth = [r for r in told if r.gain_ms is None or r.gain_ms.mid >= _LEAST_SHARE * step]
    return tuple(sorted(worth, key=lambda r: -r.gain_ms.mid if r.gain_ms else 0.0))


def with_gpus(report: TraceReport, asked: WhatIfs, names: Sequence[str]) -> TraceReport:
    """The report with the same job on these GPUs.

    Raises:
        UnknownDevice: the catalog has no such GPU.
    """
    devices = [DeviceResult(report.device, "cpu" if asked.evidence.on_cpu else "gpu", "measured", report.step_ms, report.account)]
    warnings: list[str] = []
    operations = _operations(asked)
    for gpu in dict.fromkeys(find_gpu(name) for name in names):
        step, lost = _on(asked, operations, gpu)
        devices.append(DeviceResult(gpu.name, "gpu", "predicted", step))
        warnings += [lost] if lost else []
    return replace(report, devices=tuple(devices), warnings=(*report.warnings, *warnings))


def _operations(asked: WhatIfs) -> Operations | None:
    """The trace's operations with their shapes; None where they were not recorded."""
    if asked.trace.source != "kineto":
        return None
    source = next((s for path in asked.files for s in sources(path) if s.name == asked.trace.name), None)
    try:
        return None if source is None else operations_of(source)
    except InputError:
        return None


def _on(asked: WhatIfs, operations: Operations | None, gpu: Gpu) -> tuple[Interval | None, str | None]:
    """The step there, or why it is not known."""
    evidence = asked.evidence
    if evidence.on_cpu:
        if operations is None:
            return None, f"no prediction for {gpu.name}: the trace marks no steps, or holds no shapes (record_shapes=True)"
        return _from_shapes(operations, gpu), None
    this = None if evidence.facts.name is None else catalogued(evidence.facts.name)
    if this is None:
        return None, f"no prediction for {gpu.name}: it is not known how fast the recorded GPU ({evidence.device}) is"
    if asked.played is None:
        return (
            None,
            f"no prediction for {gpu.name}: the trace has no steps, does not say what launched its kernels, or is too long",
        )
    known = None if operations is None or evidence.steps is None else _known(operations, evidence, this, gpu)
    return scaled(asked.played, ratios(evidence, this, gpu, known)), None


def _known(operations: Operations, evidence: TraceEvidence, this: Gpu, other: Gpu) -> Known | None:
    """Operations with a price on both devices, in the timeline's time; None where its steps are not the marked ones."""
    if evidence.steps is None or evidence.steps.how != "marks":
        return None
    calls = operations.stream.calls
    here, there = price_calls(calls, this), price_calls(calls, other)
    priced = (here.device_ns[1] > 0) & (there.device_ns[1] > 0)
    ratio = np.where(priced, there.device_ns / np.where(priced, here.device_ns[1], 1.0), np.nan)
    call = operations.stream.rows[schema.ROW_CALL.name].to_numpy()
    timed = np.isfinite(operations.start)
    origin = int(evidence.steps.spans.start[0])
    start, end = (np.rint(t[timed]).astype(np.int64) + origin for t in (operations.start, operations.end))
    order = np.argsort(start, kind="stable")
    return Known(start[order], end[order], ratio[:, call[timed]][:, order])


def _from_shapes(operations: Operations, gpu: Gpu) -> Interval:
    """The step of a CPU's trace on a GPU, in a host that is not known."""
    costs = price_calls(operations.stream.calls, gpu)
    times = times_at(operations.stream, costs, HostRate(1.0, 1.0, hypot(HOST_LOG_SIGMA, _UNKNOWN_HOST)))
    step = step_ms(operations.stream, costs, times)
    return Interval(step.low, step.mid, step.high)
