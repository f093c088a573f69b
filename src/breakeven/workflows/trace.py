"""`breakeven trace`: reads a profiler's trace, accounts for it, says what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from breakeven.diagnose.imported.evidence import TraceEvidence, evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.diagnose.imported.profiler_cost import without_profiler
from breakeven.diagnose.imported.ranks import uneven_ranks
from breakeven.diagnose.imported.steps import Steps
from breakeven.diagnose.played import played_step
from breakeven.errors import InputError, NoAnswer
from breakeven.readers import Trace, read
from breakeven.readers.profiles.files import OnBytes
from breakeven.results.pictured import PlayedStep
from breakeven.results.traced import RankResult, TraceReport, TraceStep
from breakeven.timeline import queries
from breakeven.timeline.intervals import Intervals
from breakeven.units import NS_PER_MS
from breakeven.workflows.minimise import minimised
from breakeven.workflows.replay import replay
from breakeven.workflows.trace_what_ifs import WhatIfs, with_gains, with_gpus


@dataclass(frozen=True)
class TraceRequest:
    """What is asked.

    Attributes:
        files: traces, archives and folders of them.
        step: look at this step alone (its number, counted from 0, or the end of its mark's name).
        replay: also play the trace's own operations through the simulator.
        minimise: also make a small file of it that can be shared.
        what_if: also play it without what its findings name.
        gpus: other GPUs of the catalog, on which the same job is predicted.
    """

    files: tuple[Path, ...]
    step: str | None = None
    replay: bool = False
    minimise: bool = False
    what_if: bool = False
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True)
class Traced:
    """The answer, the small file where it was asked for, and what both were found from."""

    report: TraceReport
    small: bytes | None
    evidence: TraceEvidence

    @property
    def step(self) -> PlayedStep | None:
        """The step that a picture shows; None: no event lies in it."""
        return _pictured(self.evidence)


@dataclass(frozen=True)
class Look:
    """What a command looks at: the rank whose device works most, and the others.

    Attributes:
        trace: of that rank.
        evidence: on its device.
        all: every rank with its evidence, that one too.
        warnings: what was lost or mended in reading.
    """

    trace: Trace
    evidence: TraceEvidence
    all: tuple[tuple[Trace, TraceEvidence], ...]
    warnings: tuple[str, ...]


def looked_at(files: Sequence[Path], on_bytes: OnBytes = lambda done, size: None) -> Look:
    """Reads the files and accounts for them.

    Raises:
        InputError: nothing can be read.
        NoAnswer: there is nothing to account for.
    """
    traces, warnings = read(files, on_bytes)
    found = [(one, evidence) for one in traces if (evidence := _evidence(one)) is not None]
    if not found:
        raise NoAnswer(f"{traces[0].name}: no event with a length on any thread or device: nothing to account for")
    best = max(found, key=lambda pair: (0 if pair[1].on_cpu else pair[1].kernels, len(pair[0].timeline)))
    return Look(*best, tuple(found), warnings)


def trace(request: TraceRequest, on_bytes: OnBytes = lambda done, size: None) -> tuple[TraceReport, bytes | None]:
    """The answer for the files, and the small file where it was asked for: those of `traced`."""
    found = traced(request, on_bytes)
    return found.report, found.small


def traced(request: TraceRequest, on_bytes: OnBytes = lambda done, size: None) -> Traced:
    """The answer for the files; of several ranks, for the one whose device works most, with the others beside.

    Raises:
        InputError: nothing can be read, or there is no such step or GPU.
        NoAnswer: there is nothing to account for.
    """
    look = looked_at(request.files, on_bytes)
    evidence = look.evidence if request.step is None else _only_step(look.trace, look.evidence, request.step)
    report = replace(_report(look.trace, evidence, look.warnings), file=_name(request.files))
    if request.what_if or request.gpus:
        asked = WhatIfs.of(request.files, look.trace, evidence)
        report = with_gains(report, asked) if request.what_if else report
        report = with_gpus(report, asked, request.gpus) if request.gpus else report
    if request.replay:
        report = replace(report, replay=replay(request.files, look.trace, look.evidence))
    if len(look.all) > 1:
        uneven = uneven_ranks([(one.rank, each) for one, each in look.all])
        findings = report.findings if uneven is None else (*report.findings, uneven)
        report = replace(report, ranks=_ranks(look), findings=findings)
    small = minimised(look.trace, look.evidence) if request.minimise else None
    return Traced(report, small, evidence)


def _pictured(evidence: TraceEvidence) -> PlayedStep | None:
    """The step of median length on this device, with the host's threads; without steps, the time that was accounted for."""
    timeline = evidence.timeline
    lanes = [i for i, lane in enumerate(timeline.lanes) if lane.kind in ("host", "loader") or lane.device == evidence.lane_device]
    step = evidence.accounts.median()
    window = step.start_ns, step.start_ns + step.duration_ns
    return played_step(timeline, evidence.device, "measured", window=window, lanes=lanes)


def _name(files: Sequence[Path]) -> str:
    return files[0].name if len(files) == 1 else ", ".join(f.name for f in files)


def _evidence(one: Trace) -> TraceEvidence | None:
    try:
        return evidence_from(one.timeline, one.devices, one.shapes)
    except ValueError:  # no event on any lane that counts
        return None


def _only_step(one: Trace, evidence: TraceEvidence, wanted: str) -> TraceEvidence:
    """Evidence on one of the steps."""
    steps = evidence.steps
    names = steps.names if steps else ()
    at = [i for i, name in enumerate(names) if name == wanted or name.endswith(f"#{wanted}")]
    if not at and wanted.isdecimal() and int(wanted) < len(names):
        at = [int(wanted)]
    if not at or steps is None:
        known = f"there are {names[0]} … {names[-1]}" if names else "the trace marks no steps"
        raise InputError(f"no step {wanted!r} in {one.name}: {known}")
    only = Steps((names[at[0]],), Intervals(steps.spans.start[at[:1]], steps.spans.end[at[:1]]), steps.how)
    accounts = replace(evidence.accounts, steps=(evidence.accounts.steps[at[0]],))
    return replace(evidence, steps=only, accounts=accounts)


def _report(one: Trace, evidence: TraceEvidence, warnings: Sequence[str]) -> TraceReport:
    busy, idle = _busy_idle(evidence)
    steps = evidence.steps
    lengths = (steps.spans.end - steps.spans.start).tolist() if steps else []
    return TraceReport(
        file=one.name, source=one.source, device=evidence.device, events=one.entries,
        steps=tuple(TraceStep(name, ns / NS_PER_MS) for name, ns in zip(steps.names if steps else (), lengths, strict=True)),
        step_ms=evidence.step_ms, account=evidence.shares(), findings=trace_findings(evidence),
        warnings=(*warnings, *((steps.note,) if steps and steps.note else ())),
        device_busy_ms=busy, device_idle_ms=idle, kernels=0 if evidence.on_cpu else evidence.kernels,
        without_profiler_ms=without_profiler(evidence, one.source),
        steps_from=steps.how if steps else None, rank=one.rank, versions=dict(one.timeline.origin.versions),
    )  # fmt: skip


def _busy_idle(evidence: TraceEvidence) -> tuple[float | None, float | None]:
    if evidence.on_cpu:
        return None, None
    return (
        queries.busy(evidence.timeline, evidence.lane_device).total_ns / NS_PER_MS,
        queries.idle(evidence.timeline, evidence.lane_device).total_ns / NS_PER_MS,
    )


def _ranks(look: Look) -> tuple[RankResult, ...]:
    """Every rank; who waits longest in collectives came early, or sends more: one trace alone does not say which."""
    ranks = [
        RankResult(one.rank, *_busy_idle(each), each.step_ms, one.name, None if each.on_cpu else each.price("communication").mid)
        for one, each in look.all
    ]
    return tuple(sorted(ranks, key=lambda r: (r.rank is None, r.rank or 0, r.file)))
