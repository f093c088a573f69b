"""Records of `breakeven sweep`: cells, crossings, contours, what set-up and hours cost. Missing is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.results.records import Interval

Value = int | float | bool | str


@dataclass(frozen=True)
class SweptParameter:
    """One parameter: what is varied, and where it was found.

    Attributes:
        name: as it was asked for.
        values: of the grid.
        today: what the script holds now; None: not written out.
        kind: option, key, constant, field, default, argument or layer.
        found: the place in words.
    """

    name: str
    values: tuple[Value, ...]
    today: Value | None
    kind: str
    found: str


@dataclass(frozen=True)
class CellDevice:
    """One device's step in one cell.

    Attributes:
        name: `cpu`, or the GPU's name in the catalog.
        source: measured, interpolated (between measured cells) or predicted.
        how: of a prediction: recorded (this very cell), scaled (by the law of sizes) or interpolated; None: measured.
        step_ms: milliseconds of a step.
        per_s: samples in a second at the middle; None: the batch is not known.
    """

    name: str
    source: str
    how: str | None
    step_ms: Interval
    per_s: float | None = None


@dataclass(frozen=True)
class Cell:
    """One choice of values."""

    values: Mapping[str, Value]
    batch: int | None
    devices: tuple[CellDevice, ...]
    fastest: str | None
    probability: float | None
    error: str | None = None


@dataclass(frozen=True)
class Crossing:
    """Where one parameter takes a GPU past the CPU, the others held.

    Attributes:
        parameter: that is varied.
        at: the other parameters' values.
        gpu: the device.
        today: the parameter's value in the script.
        outcome: from (the GPU wins from `value` on), up_to, between (`value` and `until`), always, never.
        value: the crossing; None: there is none in the range.
        low: 5 % of the draws cross below; None: it may lie outside the range.
        high: 5 % of the draws cross above; None: it may lie outside the range.
        until: where the GPU stops winning, for `between`.
        probability: that the GPU wins somewhere in the range.
        sentence: all that in words.
    """

    parameter: str
    at: Mapping[str, Value]
    gpu: str
    today: Value | None
    outcome: str
    value: float | None
    low: float | None
    high: float | None
    until: float | None
    probability: float
    sentence: str


@dataclass(frozen=True)
class ContourPoint:
    """A point of the line between two devices on the map; `x` None: no crossing at this `y`."""

    y: float
    x: float | None
    low: float | None
    high: float | None
    outcome: str


@dataclass(frozen=True)
class Contour:
    """The line on the map of two parameters where the CPU and a GPU take equally long.

    Attributes:
        x: the parameter across.
        y: the parameter up.
        gpu: the device.
        points: where it meets the grid's own values of `y`.
        lines: the whole of it, each part as points (x, y); empty: one of the two wins everywhere.
        surely: the line beyond which the GPU wins in 95 % of the draws.
        hardly: the line beyond which it wins in 5 % of them; the two hold the 90 % band.
    """

    x: str
    y: str
    gpu: str
    points: tuple[ContourPoint, ...]
    lines: tuple[tuple[tuple[float, float], ...], ...] = ()
    surely: tuple[tuple[tuple[float, float], ...], ...] = ()
    hardly: tuple[tuple[tuple[float, float], ...], ...] = ()


@dataclass(frozen=True)
class Payback:
    """After how much training a GPU's set-up has paid for itself, in the cell where the GPU wins by most.

    Attributes:
        gpu: the device.
        what: setup, or compile.
        at: the cell.
        setup_ms: what is paid once.
        saved_ms: what each step saves against the CPU (or against the uncompiled step).
        steps: steps until it is paid back; None: never.
        minutes: the same as time on that device; None: never.
        sentence: all that in words.
    """

    gpu: str
    what: str
    at: Mapping[str, Value]
    setup_ms: Interval
    saved_ms: Interval
    steps: Interval | None
    minutes: Interval | None
    sentence: str


@dataclass(frozen=True)
class Cost:
    """What training costs on one device, in the cell where it is cheapest a sample.

    Attributes:
        device: its name.
        at: the cell.
        usd_per_hour: price of an hour of it; None: the price list does not have it.
        offer: whose price that is.
        dated: of which day or edition.
        usd_per_million: of a million samples; None: price or batch not known.
        usd_per_epoch: of an epoch; None: as above, or the samples of an epoch are not known.
        kwh_per_million: energy of a million samples at the device's power limit: the most that it draws; None: not known.
        kwh_per_epoch: the same of an epoch; None: not known.
    """

    device: str
    at: Mapping[str, Value]
    usd_per_hour: float | None
    offer: str | None
    dated: str | None
    usd_per_million: Interval | None
    usd_per_epoch: Interval | None
    kwh_per_million: float | None
    kwh_per_epoch: float | None = None


@dataclass(frozen=True)
class LawCheck:
    """How a law fared where a cell was run and left out of it.

    Attributes:
        device: its name.
        law: sizes (exact or approximate), or interpolation.
        cells: cells that it was checked at.
        error: its error there, as a part of the true value; None: too few cells to say.
        holds: it is inside its own interval.
        sentence: all that in words.
    """

    device: str
    law: str
    cells: int
    error: float | None
    holds: bool | None
    sentence: str


@dataclass(frozen=True)
class SweepReport:
    """The whole answer of `breakeven sweep`."""

    script: str
    parameters: tuple[SweptParameter, ...]
    cells: tuple[Cell, ...]
    crossings: tuple[Crossing, ...]
    contours: tuple[Contour, ...]
    paybacks: tuple[Payback, ...]
    costs: tuple[Cost, ...]
    checks: tuple[LawCheck, ...]
    runs: Mapping[str, int]
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)  # JSON values
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    failed: str | None = None
    schema: str = "breakeven/sweep/1"
