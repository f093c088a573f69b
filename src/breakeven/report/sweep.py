"""The page of `breakeven sweep`: who wins where, the crossings, what was run, what it costs. It computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from breakeven.report.numbers import PREDICTED_DIGITS, digits
from breakeven.report.paper import LEAST_WIDTH, MOST_WIDTH, Paper
from breakeven.results.swept import Cell, Cost, Crossing, SweepReport

_MOST_LINES = 12
_MOST_COLUMNS = 12
_LONGEST = 300
_SURE = 0.95


def render_sweep(report: SweepReport, width: int = 80, ascii_only: bool = False) -> RenderableType:
    """The whole page.

    Args:
        report: the answer.
        width: columns of the terminal; the page uses at most 120 of them.
        ascii_only: draws with ASCII alone.
    """
    paper = Paper(max(LEAST_WIDTH, min(width, MOST_WIDTH)), ascii_only)
    return Group(
        *_head(report, paper), Text(), *_map(report, paper), Text(), *_crossings(report, paper), Text(), *_worth(report, paper),
        *_notes(report, paper),
    )  # fmt: skip


def _head(report: SweepReport, paper: Paper) -> Iterator[RenderableType]:
    runs = report.runs
    yield paper.text(
        f"breakeven sweep {paper.short_path(report.script, paper.width - 50)} · {runs['cells']} cells: {runs['timed']} timed "
        f"here, {runs['recorded']} recorded, the others priced by their laws",
        style="dim",
    )
    for parameter in report.parameters:
        today = f", today {parameter.today}" if parameter.today is not None else ""
        yield paper.text(f"{parameter.name}: {parameter.found}{today}", style="dim")
    yield Text()
    yield paper.text(_answer(report), style="bold")


def _answer(report: SweepReport) -> str:
    """The sentence of the first parameter and the first GPU, at the others' middle values; else who wins most cells."""
    middle = {p.name: p.values[len(p.values) // 2] for p in report.parameters}
    for crossing in report.crossings:
        if all(middle[name] == value for name, value in crossing.at.items()):
            return crossing.sentence
    won = [cell.fastest for cell in report.cells if cell.fastest]
    return f"The {max(won, key=won.count)} wins most cells." if won else "No cell could be answered."


def _map(report: SweepReport, paper: Paper) -> Iterator[RenderableType]:
    """Who is fastest in each cell: rows of the first parameter, columns of the second."""
    names = list(dict.fromkeys(d.name for cell in report.cells for d in cell.devices))
    letters = _letters(names)
    first = report.parameters[0]
    second = report.parameters[1] if len(report.parameters) > 1 else None
    yield paper.text("Which device is fastest (small letter: under 95 % sure)", style="bold")
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column(paper.text(f"  {first.name}"), justify="right", overflow="fold")
    columns = [None] if second is None else list(second.values)[:_MOST_COLUMNS]
    for value in columns:
        table.add_column(paper.text("" if second is None else str(value)), justify="right", overflow="fold")
    rest = {p.name: p.values[0] for p in report.parameters[2:]}
    for value in first.values:
        cells = [_cell(report, first.name, value, second.name if second else None, other, rest) for other in columns]
        table.add_row(paper.text(f"  {value}"), *(paper.text(_letter(cell, letters)) for cell in cells))
    yield table
    if second is not None:
        yield paper.text(f"columns: {second.name}", style="dim", indent=2)
    yield paper.text("  ".join(f"{letter} {name}" for name, letter in letters.items()), style="dim", indent=2)


def _letters(names: list[str]) -> dict[str, str]:
    """A letter for each device: C for the CPU, the others by their order."""
    return {name: "C" if name == "cpu" else "ABDEFGHIJKLMNOPQRSTUVWXYZ"[at % 25] for at, name in enumerate(n for n in names)}


def _cell(
    report: SweepReport, name: str, value: object, second: str | None, other: object, rest: Mapping[str, object]
) -> Cell | None:
    for cell in report.cells:
        fits = cell.values[name] == value and (second is None or cell.values[second] == other)
        if fits and all(cell.values[n] == v for n, v in rest.items()):
            return cell
    return None


def _letter(cell: Cell | None, letters: dict[str, str]) -> str:
    if cell is None or cell.fastest is None:
        return "-"
    letter = letters[cell.fastest]
    return letter if (cell.probability or 0) >= _SURE else letter.lower()


def _crossings(report: SweepReport, paper: Paper) -> Iterator[RenderableType]:
    yield paper.text("Break-even", style="bold")
    shown = _thinned(report)
    for crossing in shown:
        yield paper.text(crossing.sentence, indent=2)
    if not report.crossings:
        yield paper.text("no crossing can be looked for: the CPU or the GPU was not timed", style="dim", indent=2)
    elif len(shown) < len(report.crossings):
        yield paper.text(f"and {len(report.crossings) - len(shown)} more in the JSON", style="dim", indent=2)


def _thinned(report: SweepReport) -> list[Crossing]:
    """Each parameter and GPU at the other parameters' first, middle and last values, up to what a page bears."""
    ends = {p.name: {p.values[0], p.values[len(p.values) // 2], p.values[-1]} for p in report.parameters}
    middle = {p.name: p.values[len(p.values) // 2] for p in report.parameters}
    fit = [c for c in report.crossings if all(v in ends[n] for n, v in c.at.items())]
    fit.sort(key=lambda c: not all(middle[n] == v for n, v in c.at.items()))
    return fit[:_MOST_LINES]


def _worth(report: SweepReport, paper: Paper) -> Iterator[RenderableType]:
    if any(cost.usd_per_hour is not None for cost in report.costs):
        yield paper.text("What it costs, each device at its best cell", style="bold")
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        for heading in ("  Device", "An hour", "A million samples", "An epoch", "At most", "By the list of"):
            table.add_column(paper.text(heading), overflow="fold")
        for cost in report.costs:
            table.add_row(*(paper.text(word) for word in _cost(cost, paper)))
        yield table
        yield Text()
    for payback in report.paybacks:
        yield paper.text(payback.sentence, indent=2)


def _cost(cost: Cost, paper: Paper) -> tuple[str, ...]:
    hour = f"${cost.usd_per_hour:.2f}" if cost.usd_per_hour is not None else "–"
    million = _dollars(cost.usd_per_million.mid) if cost.usd_per_million else "–"
    epoch = _dollars(cost.usd_per_epoch.mid) if cost.usd_per_epoch else "–"
    energy = _energy(cost.kwh_per_million)
    if cost.kwh_per_epoch:
        energy += f", an epoch {_energy(cost.kwh_per_epoch)}"
    dated = paper.short(f"{cost.offer}, {cost.dated}", 40) if cost.offer else "–"
    return f"  {cost.device}", hour, million, epoch, energy, dated


def _energy(kwh: float | None) -> str:
    return f"{digits(kwh, PREDICTED_DIGITS)} kWh" if kwh else "–"


def _dollars(value: float) -> str:
    return f"≈ ${digits(value, PREDICTED_DIGITS)}"


def _notes(report: SweepReport, paper: Paper) -> Iterator[RenderableType]:
    yield Text()
    for check in report.checks:
        yield paper.text(paper.short(check.sentence, _LONGEST), style="dim")
    for warning in report.warnings:
        yield paper.text(paper.short(warning, _LONGEST), style="dim")
    yield paper.text("≈ predicted, and every GPU here is; a crossing's range holds the true one 9 times in 10.", style="dim")
