"""Why a device was picked, as a page and as a table for notebooks."""

from __future__ import annotations

from html import escape

from rich.console import Group, RenderableType
from rich.table import Table

from breakeven.report.numbers import duration
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.report.text import clean
from breakeven.results.picking import Pick, Trial

_HEAD = ("device", "a step", "steps timed", "the first step", "")


def render_pick(pick: Pick, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The answer, its reason, and what was measured."""
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in _HEAD:
        table.add_column(name)
    for trial in pick.trials:
        table.add_row(*(paper.text(cell) for cell in _cells(trial)))
    kept = "remembered for this code, these shapes and this machine" if pick.decided else "not remembered: measure again"
    measured = f"measured in {pick.seconds:.1f} s, {pick.at[:19]} UTC; {kept}"
    return Group(paper.text(pick.device, style="bold"), paper.text(f"{pick.sentence}."), table, paper.text(measured, style="dim"))


def pick_table_html(pick: Pick) -> str:
    """The same for notebooks; all text escaped."""
    rows = [_row("th", _HEAD), *(_row("td", _cells(trial)) for trial in pick.trials)]
    return f"<p><b>{_safe(pick.device)}</b>: {_safe(pick.sentence)}.</p><table>{''.join(rows)}</table>"


def _cells(trial: Trial) -> tuple[str, ...]:
    name = trial.device if trial.name in ("", trial.device) else f"{trial.device} ({trial.name})"
    step = "–" if trial.step_ms is None else duration(trial.step_ms)
    first = "–" if trial.first_ms is None else duration(trial.first_ms)
    failed = f"fails: {trial.error}" if trial.error else "" if trial.first_ms is not None else "did not end in time"
    return name, step, str(trial.steps), first, failed


def _row(cell: str, cells: tuple[str, ...]) -> str:
    return "<tr>" + "".join(f"<{cell}>{_safe(text)}</{cell}>" for text in cells) + "</tr>"


def _safe(text: str) -> str:
    return escape(clean(text))
