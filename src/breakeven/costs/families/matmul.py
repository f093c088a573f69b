"""Matrix products: gemm, bmm, linear. Tiles of the output in waves over the multiprocessors, and the operands' traffic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families import elementwise
from breakeven.costs.families.part import Part, Wanted, ramp, uncached, waves
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from breakeven.units import ITEM_SIZE

#: What each operation needs, and what stands in where a column is empty (None: it must be given).
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "gemm": {"m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 0.0},
    "linear": {"m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 1.0},
    "bmm": {"b": None, "m": None, "n": None, "k": None, "trans_a": 0.0, "trans_b": 0.0},
}
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")
#: Tables of corrections: knots a factor of 4 apart (16 for the batch) over the sizes that were measured.
_SIDE: Final = Axis(2.0, 2.0, 8)
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    "gemm": (Axis(0.0, 1.0, 1), _SIDE, _SIDE, _SIDE),
    "linear": (Axis(0.0, 1.0, 1), _SIDE, _SIDE, _SIDE),
    "bmm": (Axis(0.0, 4.0, 5), _SIDE, _SIDE, _SIDE),
}
#: Tiles that cuBLAS and rocBLAS cut the output into (NVIDIA, Matrix Multiplication Background User's Guide, §3; Tensile's
#: libraries).
_TILES: Final = ((256, 128), (128, 128), (128, 64), (64, 128), (64, 64), (64, 32), (32, 64), (32, 32), (16, 128), (128, 16))
_WAVES: Final = tuple((f"wave{rows}x{columns}", rows, columns) for rows, columns in _TILES)
#: µs at peak from which on a product is long, and below which it is short: the shorter, the less surely priced.
_LONG: Final = 1000.0
_SHORT: Final = 20.0
#: Depths beyond which operands stride over more memory than caches and address translation hold.
_DEEP: Final = (2048.0, 8192.0, 32768.0)
_FAR: Final = tuple((f"far_{name}{bound:g}", side, bound) for side, name in enumerate("mnk") for bound in _DEEP)


def product(
    x: Arithmetic,
    variant: str,
    sizes: tuple[Values, Values, Values, Values],
    dtype: str,
    r: Rates,
    wanted: Wanted,
    turned: tuple[Values, Values] = (0.0, 0.0),
) -> Part:
    """`b` products (m × k)(k × n); `turned`: whether either operand is stored transposed.

    The terms: the arithmetic; the same in whole tiles and waves of them (Roofline: Williams et al., 2009; tile and wave
    quantisation: NVIDIA's guide); growing cost of long strides; each operand's traffic, and where it exceeds the L2; the chain of
    the reduction; a kernel.
    """
    b, m, n, k = sizes
    peak, size = r.matrix[dtype], float(ITEM_SIZE[dtype])
    flops = 2.0 * b * m * n * k / peak
    compute = {"flops": flops}
    names = wanted(variant)
    for name, rows, columns in _WAVES:
        if name in names:
            tiles = b * x.ceil(m / rows) * x.ceil(n / columns)
            compute[name] = waves(x, tiles, 2.0 * rows * columns * k / peak, flops, r.sms)
    for name, side, bound in _FAR:
        if name in names:
            compute[name] = flops * x.minimum(x.maximum(x.log2((m, n, k)[side] / bound) * 0.5, 0.0), 1.0)
    compute["turned_a"], compute["turned_b"] = flops * turned[0], flops * turned[1]
    left, right, out = b * m * k * size / r.bandwidth, b * k * n * size / r.bandwidth, b * m * n * size / r.bandwidth
    cached = r.l2_bytes / r.bandwidth
    traffic = {
        "left": left,
        "right": right,
        "out": out,
        "either": x.maximum(flops, left + right + out),
        "turned_right": right * turned[1],
        "left_beyond_l2": x.maximum(left - cached, 0.0),
        "right_beyond_l2": x.maximum(right - cached, 0.0),
        "out_beyond_l2": x.maximum(out - cached, 0.0),
    }
    fixed = {"kernel": 1.0, "ramp": ramp(flops * peak, (left + right + out) * r.bandwidth), "depth": k * 1e-3}
    place = (x.log2(b), x.log2(m), x.log2(n), x.log2(k))
    kind = x.where(flops >= _LONG, 0, x.where(flops >= _SHORT, 1, 2))
    least = x.maximum(flops / r.ceiling(dtype), uncached(x, b * (m * k + k * n + m * n) * size, r))
    found = Part(variant, compute, traffic, fixed, place, least, kind=kind)
    vector = (b == 1.0) & ((m == 1.0) | (n == 1.0))
    if not x.some(vector):
        return found
    # cuBLAS and rocBLAS run a matrix times a vector as a reduction of its rows: no tiles, the matrix is read once
    bytes_moved = (m * k + k * n + m * n) * size
    return found._replace(instead=elementwise.stream(x, "stream", bytes_moved, m * n * k, dtype, r), may=vector)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """The products of one direction: each gradient is one product more; the bias of a `linear` is a sum over rows."""
    b, m, n, k = c.get("b", 1.0), c["m"], c["n"], c["k"]
    forward = product(x, op, (b, m, n, k), dtype, r, wanted, (c["trans_a"], c["trans_b"]))
    if direction == "forward":
        return [forward]
    other = "bmm" if op == "bmm" else "gemm"
    inputs = product(x, other, (b, m, k, n), dtype, r, wanted)
    params = product(x, other, (b, k, n, m), dtype, r, wanted, (1.0, 0.0))
    bias = [elementwise.stream(x, "stream", m * n * ITEM_SIZE[dtype], m * n, dtype, r)] if op == "linear" else []
    return {
        "backward_inputs": [inputs],
        "backward_params": [params, *bias],
        "backward": [inputs, params, *bias],
        "both": [forward, inputs, params, *bias],
    }[direction]
