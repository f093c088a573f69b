"""The launch itself: what an empty kernel takes when the same one is issued back to back, from a stream or from a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"launch": {}}
DIRECTIONS: Final = ("forward",)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """Nothing but a kernel."""
    return [(op, Terms(0.0, 0.0, 0.0, 1.0, 0.0))]
