"""The page of `breakeven sweep`: who wins where, a slider for each number that was swept, the map, the crossings, the costs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from breakeven.report.html.bars import causes
from breakeven.report.html.panels import MOST_POINTS, panels_of
from breakeven.report.html.writing import document
from breakeven.report.numbers import PREDICTED_DIGITS, digits, probability
from breakeven.report.sweep import SURE, letters_of, sweep_answer, thinned
from breakeven.results.swept import Cell, Cost, SweepReport, SweptParameter, Value

#: Rows of the map and of the table of all cells that a page shows; all of them are in the JSON.
_MOST_CELLS = 400
_MOST_COLUMNS = 40
#: Colours of devices in the style.
_COLOURS = 5


@dataclass(frozen=True)
class Square:
    """One cell of the map: the winner's letter and colour; `sure` from 95 % on."""

    letter: str
    colour: int
    sure: bool
    title: str


@dataclass(frozen=True)
class Map:
    """Who is fastest: rows of the first parameter, columns of the second, the others held."""

    row: str
    column: str | None
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]
    held: str
    devices: tuple[tuple[str, int, str], ...]  # letter, colour, name


@dataclass(frozen=True)
class Price:
    """One device's costs, in words."""

    device: str
    at: str
    hour: str
    million: str
    epoch: str
    energy: str
    offer: str


def sweep_page(report: SweepReport, command: str | None = None) -> bytes:
    """The answer as a page, UTF-8.

    Args:
        report: the answer.
        command: what was typed; None: as far as the answer tells.
    """
    panels = panels_of(report)
    shown = thinned(report)
    said = {crossing.sentence for crossing in shown}
    return document(
        "sweep.html.j2", {"panels": panels, "causes": causes()},
        report=report, title=f"breakeven sweep {report.script}", headline=sweep_answer(report), panels=panels,
        map=map_of(report), crossings=shown, more=[c for c in report.crossings if c.sentence not in said][:_MOST_CELLS],
        prices=tuple(_price(cost) for cost in report.costs), devices=_devices(report), cells=report.cells[:_MOST_CELLS],
        left_out=max(0, len(report.cells) - _MOST_CELLS), measured_lines=tuple(_measured(report)),
        predicted_lines=tuple(_predicted(report)), unknown_lines=tuple(_unknown(report)),
        command=command or _command(report),
    )  # fmt: skip


def map_of(report: SweepReport) -> Map | None:
    """The map; None where no cell has a winner."""
    if not any(cell.fastest for cell in report.cells):
        return None
    first, rest = report.parameters[0], report.parameters[1:]
    second = rest[0] if rest else None
    held = {p.name: p.values[0] for p in rest[1:]}
    names = _devices(report)
    letters = letters_of(names)
    known = {tuple(cell.values.values()): cell for cell in report.cells}
    columns: Sequence[Value | None] = second.values[:_MOST_COLUMNS] if second else (None,)
    rows = []
    for value in first.values[:_MOST_CELLS]:
        at = [(value, *(() if column is None else (column,)), *held.values()) for column in columns]
        rows.append((str(value), tuple(_square(known.get(place), names, letters) for place in at)))
    return Map(
        first.name, second.name if second else None, tuple("" if c is None else str(c) for c in columns), tuple(rows),
        _at(held), tuple((letters[name], number % _COLOURS, name) for number, name in enumerate(names)),
    )  # fmt: skip


def _square(cell: Cell | None, names: Sequence[str], letters: dict[str, str]) -> Square:
    if cell is None or cell.fastest is None:
        return Square("–", -1, False, (cell.error if cell is not None else None) or "not known")
    chance = cell.probability or 0.0
    sure = chance >= SURE
    letter = letters[cell.fastest]
    title = f"{_named(cell.fastest)} is the fastest, probability {probability(chance)}"
    return Square(letter if sure else letter.lower(), names.index(cell.fastest) % _COLOURS, sure, title)


def _devices(report: SweepReport) -> list[str]:
    return list(dict.fromkeys(d.name for cell in report.cells for d in cell.devices))


def _named(device: str) -> str:
    return "the CPU" if device == "cpu" else f"the {device}"


def _at(values: dict[str, Value]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _price(cost: Cost) -> Price:
    def about(value: float | None) -> str:
        return "–" if value is None else f"≈ ${digits(value, PREDICTED_DIGITS)}"

    return Price(
        cost.device, _at(dict(cost.at)), "–" if cost.usd_per_hour is None else f"${cost.usd_per_hour:.2f}",
        about(cost.usd_per_million.mid if cost.usd_per_million else None),
        about(cost.usd_per_epoch.mid if cost.usd_per_epoch else None),
        f"{digits(cost.kwh_per_million, PREDICTED_DIGITS)} kWh" if cost.kwh_per_million else "–",
        f"{cost.offer}, {cost.dated}" if cost.offer else "–",
    )  # fmt: skip


def _measured(report: SweepReport) -> Iterator[str]:
    timed = report.runs.get("timed", 0)
    if timed:
        yield f"The step on this machine's CPU in {timed:,} of {len(report.cells):,} cells."
    if report.runs.get("recorded"):
        yield f"Which operations a step asks for, in {report.runs['recorded']:,} cells, with the real values."


def _predicted(report: SweepReport) -> Iterator[str]:
    gpus = [name for name in _devices(report) if name != "cpu"]
    if gpus:
        yield f"Every step on {', '.join(gpus)}: simulated; no such GPU was used."
    yield "The CPU's step in cells that were not timed: between or beyond those that were, by the laws that these show."
    yield "On the way from one cell to the next the sliders interpolate."
    yield from (check.sentence for check in report.checks)


def _unknown(report: SweepReport) -> Iterator[str]:
    if report.error is not None:
        yield report.error
    missing = sum(not cell.devices for cell in report.cells)
    if missing:
        yield f"{missing:,} cells: nothing like them could be run."
    swept = sum(len(p.values) > 1 for p in report.parameters)
    if swept > 1 and sum(len(cell.devices) for cell in report.cells) * swept > MOST_POINTS:
        yield "The sliders leave the other parameters at their middle values: the whole grid is too much for a page."
    yield "Whether another size trains as well: only the time of a step was looked at."
    yield from report.warnings


def _command(report: SweepReport) -> str:
    return shlex.join(["breakeven", "sweep", report.script, *(w for p in report.parameters for w in ("--vary", _vary(p)))])


def _vary(parameter: SweptParameter) -> str:
    return f"{parameter.name}={','.join(str(value) for value in parameter.values)}"
