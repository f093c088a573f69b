"""The page of `breakeven compare`: a line for each cause. It shows what the report holds and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import LEAST_MS, MEASURED_DIGITS, duration
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.report.words import cause_words
from breakeven.results.compared import Change, CompareReport

_MOST = 8
_LONGEST = 300


def render_compare(report: CompareReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    return Group(*_head(report, paper), Text(), _table(report, paper), Text(), *_notes(report, paper))


def _head(report: CompareReport, paper: Paper) -> Iterator[RenderableType]:
    room = max(16, (paper.width - 24) // 2)
    yield paper.text(
        f"breakeven compare {paper.short_path(report.first, room)} {paper.short_path(report.second, room)}", style="dim"
    )
    one, two = report.step_ms
    if one is not None and two is not None:
        before, after = duration(one.mid, MEASURED_DIGITS), duration(two.mid, MEASURED_DIGITS)
        yield paper.text(f"One step takes {before} in the first and {after} in the second{_most(report)}.", style="bold")


def _most(report: CompareReport) -> str:
    real = next((change for change in report.changes if change.real), None)
    if real is None:
        return "; no part of it differs by more than its spread"
    return f"; what differs most is {real.cause}: {'+' if real.ms > 0 else '-'}{duration(abs(real.ms), MEASURED_DIGITS)}"


def _table(report: CompareReport, paper: Paper) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("  Cause")
    for heading in ("First", "Second", "Change"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for change in report.changes[:_MOST]:
        table.add_row(*_row(change, paper))
    return table


def _row(change: Change, paper: Paper) -> Iterator[RenderableType]:
    words = cause_words(change.cause).words
    yield paper.text(f"  {change.cause}" + (f": {words}" if words else ""))
    for ms in (change.first_ms, change.second_ms):
        yield paper.text(duration(ms, MEASURED_DIGITS) if ms else "–")
    signed = (
        f"{'+' if change.ms > 0 else '-'}{duration(abs(change.ms), MEASURED_DIGITS)}" if abs(change.ms) >= LEAST_MS else "none"
    )
    yield paper.text(signed, style="bold" if change.real else "")
    yield paper.text("" if change.real or not change.ms else "within the spread", style="dim")


def _notes(report: CompareReport, paper: Paper) -> Iterator[RenderableType]:
    for warning in report.warnings[:_MOST]:
        yield paper.text(paper.short(warning, _LONGEST), style="dim", indent=2)
