"""Matrix products: gemm, bmm, linear. Tiles of the output in waves over the multiprocessors, and the operands' traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families import elementwise
from breakeven.costs.families.terms import Terms
from breakeven.costs.rates import Rates
from breakeven.units import ITEM_SIZE

#: What each operation needs, and what stands in where a column is empty (None: it must be given).
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "gemm": {"m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 0.0},
    "linear": {"m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 1.0},
    "bmm": {"b": None, "m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 0.0},
}
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")


def terms(x: Arithmetic, c: Mapping[str, Values], dtype: str, r: Rates) -> Terms:
    """One product (m × k)(k × n), `b` of them.

    Tiles of 64 × 64 are what cuBLAS chooses for small outputs; the last wave of tiles costs a whole one (Williams et al., Roofline,
    2009; NVIDIA, Matrix Multiplication Background User's Guide, tile and wave quantisation).
    """
    b, m, n, k = c.get("b", 1.0), c["m"], c["n"], c["k"]
    size = float(ITEM_SIZE[dtype])
    flops = 2.0 * b * m * n * k
    tiles = b * x.ceil(m / 64.0) * x.ceil(n / 64.0)
    padded = x.maximum(2.0 * 64.0 * 64.0 * k * tiles, flops)
    spread = x.minimum(1.0, tiles * x.ceil(k / 512.0) / r.sms)
    arithmetic = x.maximum(flops, padded) / r.matrix[dtype] / spread
    traffic = b * (m * k + k * n + m * n) * size / r.bandwidth
    least = flops / r.matrix[dtype]
    return Terms(arithmetic, traffic, k, 1.0, least)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates) -> list[tuple[str, Terms]]:
    """The products of one direction: a product's gradients are two more products (and a sum over rows for the bias of a `linear`)."""
    b, m, n, k = c.get("b", 1.0), c["m"], c["n"], c["k"]
    forward = (op, terms(x, c, dtype, r))
    if direction == "forward":
        return [forward]
    inputs = ("bmm" if op == "bmm" else "gemm", terms(x, {"b": b, "m": m, "n": k, "k": n}, dtype, r))
    params = ("bmm" if op == "bmm" else "gemm", terms(x, {"b": b, "m": k, "n": n, "k": m}, dtype, r))
    bias = (
        [("stream", elementwise.terms(x, {"elements": m * n, "bytes": m * n * ITEM_SIZE[dtype]}, dtype, r))]
        if op == "linear"
        else []
    )
    return {
        "backward_inputs": [inputs], "backward_params": [params, *bias], "backward": [inputs, params, *bias],
        "both": [forward, inputs, params, *bias],
    }[direction]  # fmt: skip
