"""The page of `breakeven trace`: a step as it was recorded, where its time goes, what causes it, and what to do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from breakeven.report.html.bars import causes, chart
from breakeven.report.html.operations import operations
from breakeven.report.html.writing import document
from breakeven.report.numbers import MEASURED_DIGITS, PREDICTED_DIGITS, duration, measured
from breakeven.results import DeviceResult, Remedy
from breakeven.results.pictured import PlayedStep
from breakeven.results.traced import TraceReport


def trace_page(report: TraceReport, step: PlayedStep | None = None, command: str | None = None) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer.
        step: the step that is drawn; None: none is.
        command: what was typed; None: as far as the answer tells.
    """
    kind = "cpu" if report.device == "cpu" else "gpu"
    device = DeviceResult(report.device, kind, "measured", report.step_ms, report.account)
    named = dict.fromkeys((name, f.device) for f in report.findings for name in f.remedies)
    return document(
        "trace.html.j2", {"steps": [step] if step else [], "causes": causes()},
        report=report, title=f"breakeven trace {report.file}", unit="step" if report.steps else "traced time",
        headline=_headline(report), facts=tuple(_facts(report)), chart=chart((device,)),
        remedies=report.remedies or tuple(Remedy(name, device, None, "") for name, device in named),
        steps=[(step, operations(step))] if step else [], measured_lines=tuple(_measured(report)),
        predicted_lines=tuple(_predicted(report)), unknown_lines=tuple(_unknown(report, step)),
        command=command or shlex.join(["breakeven", "trace", report.file]),
    )  # fmt: skip


def _headline(report: TraceReport) -> str:
    if report.step_ms is None:
        return f"No step time on {report.device}"
    length = duration(report.step_ms.mid, MEASURED_DIGITS)
    if not report.steps:
        return f"{length} were traced on {report.device}; no steps are marked in it."
    return f"A step takes {length} on {report.device}, of {len(report.steps):,} recorded."


def _facts(report: TraceReport) -> Iterator[str]:
    if report.device_busy_ms is not None and report.device_idle_ms is not None:
        busy, idle = duration(report.device_busy_ms, MEASURED_DIGITS), duration(report.device_idle_ms, MEASURED_DIGITS)
        yield f"Over the whole trace the GPU was busy for {busy} and idle for {idle}, with {report.kernels:,} kernels."
    if report.findings:
        yield report.findings[0].sentence


def _measured(report: TraceReport) -> Iterator[str]:
    if report.step_ms is not None and report.steps:
        yield f"The step: {len(report.steps):,} recorded, {measured(report.step_ms)}."
    yield f"What happened in it: {report.events:,} entries of the file. The profiler's own cost is in all of these times."


def _predicted(report: TraceReport) -> Iterator[str]:
    without = report.without_profiler_ms
    if without is not None:
        low, high = duration(without.low, PREDICTED_DIGITS), duration(without.high, PREDICTED_DIGITS)
        yield f"A step without the profiler: ≈ {duration(without.mid, PREDICTED_DIGITS)} ({low} to {high})."
    if any(remedy.gain_ms for remedy in report.remedies):
        yield "What a remedy saves: the recorded step was played again as the remedy would leave it."
    played = report.replay
    if played is not None and played.blind_ms is not None:
        low, high = duration(played.blind_ms.low, PREDICTED_DIGITS), duration(played.blind_ms.high, PREDICTED_DIGITS)
        mid = duration(played.blind_ms.mid, PREDICTED_DIGITS)
        yield f"The step from the names and shapes of its operations alone: ≈ {mid} ({low} to {high})."


def _unknown(report: TraceReport, step: PlayedStep | None) -> Iterator[str]:
    if step is not None and step.left_out:
        yield f"The timeline leaves out the {step.left_out:,} shortest events of the step."
    if any(r.gain_ms is None for r in report.remedies) or (not report.remedies and any(f.remedies for f in report.findings)):
        yield "What the remedies without a figure would save: a trace shows what a cause costs, not what takes its place."
    yield from report.warnings
