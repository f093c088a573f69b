"""Copies between host and device over the link, and on the device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "copy_h2d": {"bytes": None, "pinned": 0.0},
    "copy_d2h": {"bytes": None, "pinned": 0.0},
    "copy_d2d": {"bytes": None},
}
DIRECTIONS: Final = ("forward",)


def terms(x: Arithmetic, op: str, c: Mapping[str, Values], r: Rates) -> Terms:
    """Bytes over the link's rate; on the device they are read and written."""
    if op == "copy_d2d":
        return Terms(0.0 * c["bytes"], 2.0 * c["bytes"] / r.bandwidth, 0.0, 1.0, 0.0 * c["bytes"])
    return Terms(0.0 * c["bytes"], c["bytes"] / r.link, 0.0, 1.0, c["bytes"] / r.link)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """The copy itself; pageable and pinned memory have their own constants."""
    return [(op, terms(x, op, c, r))]
