"""Two-dimensional convolutions, forward and both backward parts, as implicit matrix products."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates
from breakeven.units import ITEM_SIZE

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "conv2d": {
        "n": None, "c": None, "h": None, "w": None, "k": None, "r": None, "s": None,
        "pad_h": 0.0, "pad_w": 0.0, "stride_h": 1.0, "stride_w": 1.0,
    },
}  # fmt: skip
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")
#: Multiplications that the Winograd transform of a 3 × 3 filter saves at best, F(4×4, 3×3) (Lavin and Gray, 2016).
WINOGRAD: Final = 4.0


def terms(x: Arithmetic, c: Mapping[str, Values], dtype: str, r: Rates) -> Terms:
    """One pass: n·p·q rows, k columns, c·r·s deep (any of the three, by direction; the arithmetic is the same)."""
    size = float(ITEM_SIZE[dtype])
    p = x.maximum(x.ceil((c["h"] + 2.0 * c["pad_h"] - c["r"] + 1.0) / c["stride_h"]), 1.0)
    q = x.maximum(x.ceil((c["w"] + 2.0 * c["pad_w"] - c["s"] + 1.0) / c["stride_w"]), 1.0)
    rows, depth = c["n"] * p * q, c["c"] * c["r"] * c["s"]
    flops = 2.0 * rows * c["k"] * depth
    tiles = x.ceil(rows / 64.0) * x.ceil(c["k"] / 32.0)
    arithmetic = x.maximum(2.0 * 64.0 * 32.0 * depth * tiles, flops) / r.matrix[dtype] / x.minimum(1.0, tiles / r.sms)
    traffic = (c["n"] * c["c"] * c["h"] * c["w"] + rows * c["k"] + c["k"] * depth) * size / r.bandwidth
    return Terms(arithmetic, traffic, depth, 1.0, flops / r.matrix[dtype] / WINOGRAD)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """The passes of one direction; `backward` is both gradients, `both` is all three passes."""
    passes = {
        "backward": ("backward_inputs", "backward_params"), "both": ("forward", "backward_inputs", "backward_params"),
    }.get(direction, (direction,))  # fmt: skip
    work = terms(x, c, dtype, r)
    return [(f"{op}.{one}", work) for one in passes]
