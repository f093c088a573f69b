"""Softmax and layer norm over rows: traffic, and the passes over a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates
from breakeven.units import ITEM_SIZE

_COLUMNS: Final[Mapping[str, float | None]] = {"rows": None, "cols": None}
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"softmax": _COLUMNS, "layernorm": _COLUMNS}
DIRECTIONS: Final = ("forward", "backward", "both")


def terms(x: Arithmetic, c: Mapping[str, Values], dtype: str, r: Rates) -> Terms:
    """Reads and writes rows × cols; a block per row, in waves over the multiprocessors."""
    size = float(ITEM_SIZE[dtype])
    elements = c["rows"] * c["cols"]
    return Terms(elements / r.vector[dtype], 2.0 * elements * size / r.bandwidth, x.ceil(c["rows"] / r.sms), 1.0, 0.0 * elements)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """Forward moves each element twice, backward three times (the output or input saved, its gradient, the result)."""
    forward = terms(x, c, dtype, r)
    backward = Terms(forward.arithmetic, 1.5 * forward.traffic, forward.chain, 1.0, forward.least)
    return [(op, one) for one in {"forward": [forward], "backward": [backward], "both": [forward, backward]}[direction]]
