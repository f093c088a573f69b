"""The page of `breakeven race`: a table, the loss against training time as a chart of characters, and who was first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import digits, duration
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results.race import Racer, RaceReport

_ROWS, _MARGIN = 14, 9
_SIGNS = "*o+x#@%&"


def render_race(report: RaceReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page."""
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("device", "iterations", "samples", "a step", "loss at the end", "reached the loss after", ""):
        table.add_column(name)
    for racer in report.racers:
        table.add_row(*(paper.text(cell) for cell in _cells(racer)))
    parts: list[RenderableType] = [paper.text(report.sentence, style="bold"), Text(), table]
    chart = race_chart(report, paper.width)
    return Group(*parts, Text(), Text(chart)) if chart else Group(*parts)


def race_chart(report: RaceReport, width: int) -> str:
    """Loss against seconds of training, in ASCII: one sign for each device; empty where there is no loss."""
    drawn = [racer for racer in report.racers if racer.loss]
    if not drawn:
        return ""
    low, high = min(min(r.loss) for r in drawn), max(max(r.loss) for r in drawn)
    longest = max(max(r.at_s[-1] for r in drawn), 1e-9)
    columns = max(width - _MARGIN - 3, 10)
    grid = [[" "] * columns for _ in range(_ROWS)]
    for racer, sign in zip(drawn, _SIGNS * len(drawn), strict=False):
        for at, loss in zip(racer.at_s, racer.loss, strict=True):
            row = round((_ROWS - 1) * (high - loss) / (high - low)) if high > low else _ROWS // 2
            grid[row][min(round((columns - 1) * at / longest), columns - 1)] = sign
    ends = {0: digits(high, 4), _ROWS - 1: digits(low, 4)}
    lines = [f"{ends.get(at, ''):>{_MARGIN}} |{''.join(row)}".rstrip() for at, row in enumerate(grid)]
    foot = f"{'':>{_MARGIN}} +{'-' * columns}\n{'':>{_MARGIN}}  0{f'{longest:.3g} s of training':>{columns - 1}}"
    legend = "  ".join(f"{sign} {racer.name}" for racer, sign in zip(drawn, _SIGNS * len(drawn), strict=False))
    return "\n".join(["loss", *lines, foot, f"{'':>{_MARGIN}}  {legend}"])


def _cells(racer: Racer) -> tuple[str, ...]:
    step = duration(1000 * racer.seconds / racer.iterations) if racer.iterations else "–"
    end = "–" if racer.end_loss is None else f"{digits(racer.end_loss.mid, 4)}"
    reached = "–" if racer.reached_s is None else duration(1000 * racer.reached_s)
    samples = "–" if racer.samples is None else f"{racer.samples:,}"
    return racer.name, str(racer.iterations), samples, step, end, reached, racer.error or ""
