"""What a slider moves through: the step of each device over one parameter, once for each choice of the other parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from breakeven.results import Interval
from breakeven.results.pictured import SizeCurve, SizePoint, Sizes
from breakeven.results.swept import Cell, SweepReport, SweptParameter, Value

#: Points that a page holds at most, all sliders together: a point is about 170 bytes, a page at most 3 MB.
MOST_POINTS = 6_000
#: Digits of a time that a page computes with: two more than it ever shows.
_DIGITS = 5


@dataclass(frozen=True)
class Choice:
    """Another parameter.

    Attributes:
        name: of it.
        values: in words.
        start: the one that is chosen at first: today's, where it was swept.
        today: today's; None: it is not among them.
    """

    name: str
    values: tuple[str, ...]
    start: int
    today: int | None


@dataclass(frozen=True)
class Table:
    """The curves at one choice of the others; none where no cell of it could be run. All have the same values in order."""

    curves: tuple[SizeCurve, ...]


@dataclass(frozen=True)
class Panel:
    """One slider.

    Attributes:
        parameter: that it moves.
        today: its value in the script; None: not known, or no number.
        choices: the other parameters.
        tables: one for each choice of theirs, the last parameter's values changing fastest.
    """

    parameter: str
    today: int | float | None
    choices: tuple[Choice, ...]
    tables: tuple[Table, ...]


def panel_of(sizes: Sizes) -> Panel:
    """The slider of `why`: one table, and nothing else to choose."""
    return Panel(sizes.parameter, sizes.today, (), (Table(sizes.curves),))


def panels_of(report: SweepReport) -> tuple[Panel, ...]:
    """A slider for each number that was swept; where that is too much for a page, the others stay at their middle values."""
    swept = [p for p in report.parameters if len(p.values) > 1 and all(is_number(v) for v in p.values)]
    points = sum(len(cell.devices) for cell in report.cells) * len(swept)
    known = {tuple(cell.values.values()): cell for cell in report.cells}
    panels = []
    for parameter in swept:
        others = [p for p in report.parameters if p is not parameter and len(p.values) > 1]
        held = {p.name: middle(p) for p in others} if points > MOST_POINTS else {}
        panels.append(_panel(report, known, parameter, others, held))
    return tuple(panel for panel in panels if any(table.curves for table in panel.tables))


def middle(parameter: SweptParameter) -> Value:
    """The value at which a parameter is held while another moves."""
    return parameter.values[len(parameter.values) // 2]


def is_number(value: Value) -> bool:
    """Whether it can lie between two others."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _panel(
    report: SweepReport, known: Mapping[tuple[Value, ...], Cell], parameter: SweptParameter,
    others: Sequence[SweptParameter], held: Mapping[str, Value],
) -> Panel:  # fmt: skip
    names = [p.name for p in report.parameters]
    offered = [replace(p, values=(held[p.name],)) if p.name in held else p for p in others]
    tables = []
    for chosen in _combined(offered):
        fixed = {p.name: p.values[0] for p in report.parameters} | chosen
        cells = [known.get(tuple({**fixed, parameter.name: value}[n] for n in names)) for value in _sorted(parameter)]
        tables.append(Table(_curves(parameter.name, cells)))
    choices = tuple(_choice(p) for p in offered)
    today = parameter.today
    return Panel(parameter.name, _number(today), choices, tuple(tables))


def _choice(parameter: SweptParameter) -> Choice:
    today = parameter.values.index(parameter.today) if parameter.today in parameter.values else None
    start = len(parameter.values) // 2 if today is None else today
    return Choice(parameter.name, tuple(str(v) for v in parameter.values), start, today)


def _sorted(parameter: SweptParameter) -> list[Value]:
    """The values of a parameter of numbers, the smallest first."""
    return sorted(parameter.values, key=lambda value: float(value))


def _number(value: Value | None) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _combined(parameters: Sequence[SweptParameter]) -> Iterable[dict[str, Value]]:
    """Every choice of values, the last parameter's changing fastest."""
    if not parameters:
        yield {}
        return
    for value in parameters[0].values:
        for rest in _combined(parameters[1:]):
            yield {parameters[0].name: value, **rest}


def _curves(name: str, cells: Sequence[Cell | None]) -> tuple[SizeCurve, ...]:
    """A curve for each device that every cell of them knows; cells that could not be run are left out."""
    ran = [cell for cell in cells if cell is not None and cell.devices]
    devices = list(dict.fromkeys(d.name for cell in ran for d in cell.devices))
    whole = [device for device in devices if all(any(d.name == device for d in cell.devices) for cell in ran)]
    return tuple(
        SizeCurve(device, "cpu" if device == "cpu" else "gpu", tuple(_point(name, cell, device) for cell in ran))
        for device in whole
    )


def _point(name: str, cell: Cell, device: str) -> SizePoint:
    own = next(d for d in cell.devices if d.name == device)
    value = _number(cell.values[name])
    assert value is not None  # asked before
    source = "measured" if own.source == "measured" else "predicted"
    return SizePoint(value, _rounded(own.step_ms), (), None, _chance(cell, device), source)


def _chance(cell: Cell, device: str) -> float | None:
    """The probability that a device is the fastest: of the fastest one it is known, and of the other where there are two."""
    if cell.probability is None:
        return None
    chance = round(cell.probability, 4)
    if cell.fastest == device:
        return chance
    return round(1 - chance, 4) if len(cell.devices) == 2 else None


def _rounded(step: Interval) -> Interval:
    def to(value: float) -> float:
        if not value or not math.isfinite(value):
            return value
        return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))

    return Interval(to(step.low), to(step.mid), to(step.high))
