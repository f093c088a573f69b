"""The pages of `breakeven runs` and `breakeven gate`. They show what the reports hold and compute nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from breakeven.report.numbers import MEASURED_DIGITS, duration, percentage
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.report.words import cause_words
from breakeven.results.runs import DeviceGate, GateReport, RunRow, RunsReport

_WARNINGS = 8
_LONGEST = 300


def render_runs(report: RunsReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The list of runs, newest first.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = _paper(width, ascii_only)
    count = "no runs" if not report.runs else "1 run" if len(report.runs) == 1 else f"{len(report.runs)} runs"
    head = paper.text(f"breakeven runs {paper.short_path(report.folder, 40)} · {count}", style="dim")
    lines = [line for run in report.runs for line in _run(run, paper)]
    if not report.runs:
        lines.append(paper.text("`breakeven why SCRIPT --out DIR` keeps an answer as a run."))
    return Group(head, Text(), *lines, *_notes(report.warnings, paper))


def _run(run: RunRow, paper: Paper) -> Iterator[RenderableType]:
    unfinished = "" if run.finished else " · not finished: --resume goes on with it"
    when = run.created.replace("T", " ").removesuffix("Z")
    yield paper.text(paper.short_path(run.path, paper.width), style="bold")
    parts = f" · {run.parts} parts" if run.parts > 1 or not run.finished else ""
    yield paper.text(f"{run.kind} {run.title} · {when}{parts}{unfinished}", indent=2)
    if run.sentence:
        yield paper.text(paper.short(run.sentence, _LONGEST), indent=2, style="dim")


def render_gate(report: GateReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """Whether a run is worse than its baseline, and by what.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = _paper(width, ascii_only)
    room = max(16, (paper.width - 24) // 2)
    head = f"breakeven gate {paper.short_path(report.baseline, room)} {paper.short_path(report.run, room)}"
    said = "Worse: a cause grew by more than its spread." if report.worse else "Not worse."
    lines: list[RenderableType] = [paper.text(head, style="dim"), paper.text(said, style="bold"), Text()]
    for gate in report.devices:
        lines += _gate(gate, paper)
    allowed = paper.text(f"What may come on top: {percentage(report.tolerance)} of the baseline's step.", style="dim")
    return Group(*lines, Text(), allowed, *_notes(report.warnings, paper))


def _gate(gate: DeviceGate, paper: Paper) -> Iterator[RenderableType]:
    before, after = (duration(step.mid, MEASURED_DIGITS) for step in gate.step_ms)
    word = "worse" if gate.worse else "not worse"
    yield paper.text(f"{gate.device} ({gate.source}): {word}; a step took {before} and takes {after}")
    for change in gate.grew:
        words = cause_words(change.cause).words
        what = f"{change.cause}: {words}" if words else change.cause
        yield paper.text(f"+{duration(change.ms, MEASURED_DIGITS)}  {what}", indent=2)
    if gate.step_grew and not gate.grew:
        yield paper.text("no single cause grew by that much; the step as a whole did", indent=2)


def _notes(warnings: tuple[str, ...], paper: Paper) -> Iterator[RenderableType]:
    for warning in warnings[:_WARNINGS]:
        yield paper.text(paper.short(warning, _LONGEST), style="dim", indent=2)


def _paper(width: int, ascii_only: bool) -> Paper:
    return Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
