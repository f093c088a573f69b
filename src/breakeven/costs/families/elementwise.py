"""Elementwise operations and other streams of bytes: their traffic, and a kernel's floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates
from breakeven.units import ITEM_SIZE

_TWO: Final[Mapping[str, float | None]] = {"elements": None, "inputs": 2.0}
_ONE: Final[Mapping[str, float | None]] = {"elements": None, "inputs": 1.0}
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "add": _TWO, "mul": _TWO, "div": _TWO, "pow": _TWO, "relu": _ONE, "gelu": _ONE, "tanh": _ONE, "sigmoid": _ONE,
    "stream": {"bytes": None, "elements": 0.0},
}  # fmt: skip
DIRECTIONS: Final = ("forward", "backward", "both")


def terms(x: Arithmetic, c: Mapping[str, Values], dtype: str, r: Rates) -> Terms:
    """Reads each input once and writes the output once; `stream` moves `bytes`."""
    size = float(ITEM_SIZE[dtype])
    moved = c["bytes"] if "bytes" in c else (c["inputs"] + 1.0) * c["elements"] * size
    return Terms(c["elements"] / r.vector[dtype], moved / r.bandwidth, 0.0, 1.0, 0.0 * moved)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """One kernel a direction; a gradient reads one tensor more (the saved input or output) than a unary operation does."""
    if direction == "forward" or op == "stream":
        return [(op, terms(x, c, dtype, r))]
    backward = (op, terms(x, {"elements": c["elements"], "inputs": x.maximum(c["inputs"], 2.0)}, dtype, r))
    return [backward] if direction == "backward" else [(op, terms(x, c, dtype, r)), backward]
