"""The launch itself: what an empty kernel takes when the same one is issued back to back, from a stream or from a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part, Wanted
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"launch": {}}
DIRECTIONS: Final = ("forward",)
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {"launch": (), "launch.graph": ()}


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """Nothing but a kernel."""
    return [Part(op, {}, {}, {"kernel": 1.0}, (), 0.0)]
