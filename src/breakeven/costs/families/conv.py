"""Two-dimensional convolutions, forward and both backward parts, as implicit matrix products."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part, Wanted, ramp, uncached, waves
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from breakeven.units import ITEM_SIZE

COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "conv2d": {
        "n": None,
        "c": None,
        "h": None,
        "w": None,
        "k": None,
        "r": None,
        "s": None,
        "pad_h": 0.0,
        "pad_w": 0.0,
        "stride_h": 1.0,
        "stride_w": 1.0,
    },
}
DIRECTIONS: Final = ("forward", "backward", "backward_inputs", "backward_params", "both")
PASSES: Final = {"backward": ("backward_inputs", "backward_params"), "both": ("forward", "backward_inputs", "backward_params")}
#: The table: the kind of filter (0: 3 × 3 at stride 1, 1: 1 × 1 at stride 1, 2: others), places of output over all images,
#: filters, depth. Knots are about as far apart as what one measured shape says of its neighbours reaches: like that reach
#: (`conv2d` in tools/fitting/fit.py) chosen by crossing folds 0 to 2 of the public measurements (docs/accuracy.md).
_TABLE: Final = (Axis(0.0, 0.0, 3), Axis(6.0, 3.0, 6), Axis(3.0, 2.0, 5), Axis(4.0, 2.0, 6))
#: Share of a price's logarithm that is the table's, where there is one; the rest is the formula's. Chosen in the same way.
BLEND: Final = 0.5
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    f"conv2d.{one}": _TABLE for one in ("forward", "backward_inputs", "backward_params")
}
#: Multiplications that the Winograd transform of a 3 × 3 filter saves at best, F(4×4, 3×3) (Lavin and Gray, 2016).
_WINOGRAD: Final = 4.0
_TILES: Final = ((256, 64), (128, 128), (128, 64), (128, 32), (64, 64), (32, 32))
#: Edges of the patches of one image that a block computes.
_PATCHES: Final = (4.0, 8.0, 16.0)


def work(x: Arithmetic, variant: str, c: Mapping[str, Values], dtype: str, r: Rates, wanted: Wanted) -> Part:
    """One pass: n·p·q rows, k columns, c·r·s deep. The direction says which of the three is reduced; the arithmetic is the same.

    The terms: the arithmetic, by kind of filter (1 × 1 plain, 3 × 3 at stride 1 maybe Winograd, else lowered); the same in
    whole tiles and waves, in patches, in padded channels; what a small side costs; traffic; the chain of the reduction; a kernel.
    """
    peak, size = r.convolving(dtype), float(ITEM_SIZE[dtype])
    p = x.maximum(x.ceil((c["h"] + 2.0 * c["pad_h"] - c["r"] + 1.0) / c["stride_h"]), 1.0)
    q = x.maximum(x.ceil((c["w"] + 2.0 * c["pad_w"] - c["s"] + 1.0) / c["stride_w"]), 1.0)
    n, channels, k = c["n"], c["c"], c["k"]
    area = c["r"] * c["s"]
    rows, depth = n * p * q, channels * area
    flops = 2.0 * rows * k * depth / peak
    pointwise = x.where(area == 1.0, 1.0, 0.0)
    plain = x.where((c["stride_h"] == 1.0) & (c["stride_w"] == 1.0), 1.0, 0.0)
    winograd = x.where((c["r"] == 3.0) & (c["s"] == 3.0), plain, 0.0)
    compute = {
        "flops": flops,
        "pointwise": flops * pointwise,
        "winograd": flops * winograd,
        "lowered": flops * (1.0 - pointwise) * (1.0 - winograd),
        "strided": flops * (1.0 - plain),
        "strided_pointwise": flops * (1.0 - plain) * pointwise,
        "few_channels": 2.0 * rows * k * area * 16.0 / peak,
        "few_filters": 2.0 * rows * depth * 32.0 / peak,
        "padded": 2.0 * rows * (64.0 * x.ceil(k / 64.0)) * (16.0 * x.ceil(channels / 16.0)) * area / peak,
        "shallow": 2.0 * rows * k * (64.0 * depth) ** 0.5 / peak,
        "narrow": 2.0 * rows * depth * (64.0 * k) ** 0.5 / peak,
        "short": 2.0 * k * depth * (4096.0 * rows) ** 0.5 / peak,
    }
    names = wanted(variant)
    for height, width in (tile for tile in _TILES if f"wave{tile[0]}x{tile[1]}" in names):
        tiles = x.ceil(rows / height) * x.ceil(k / width)
        compute[f"wave{height}x{width}"] = waves(x, tiles, 2.0 * height * width * depth / peak, flops, r.sms)
    compute |= _in_patches(x, names, n, p, q, 2.0 * (32.0 * x.ceil(k / 32.0)) * depth / peak, winograd)
    images, outputs = n * channels * c["h"] * c["w"] * size / r.bandwidth, rows * k * size / r.bandwidth
    filters, lowered = k * depth * size / r.bandwidth, rows * depth * size / r.bandwidth
    traffic = {
        "images": images,
        "outputs": outputs,
        "filters": filters,
        "lowered": lowered,
        "lowered_winograd": lowered * winograd,
        "outputs_pointwise": outputs * pointwise,
        "images_strided": images * (1.0 - plain),
        "either": x.maximum(0.5 * flops, images + outputs),
    }
    started = ramp(flops * peak, (images + outputs + filters) * r.bandwidth)
    fixed = {
        "kernel": 1.0,
        "ramp": started,
        "depth": depth * 1e-3,
        "ramp_lowered": started * (1.0 - pointwise) * (1.0 - winograd),
        "ramp_winograd": started * winograd,
    }
    kind = x.where(pointwise * plain > 0.0, 1, x.where(winograd > 0.0, 0, 2))
    touched = n * channels * x.minimum(c["h"], p * c["r"]) * x.minimum(c["w"], q * c["s"])  # strides may skip the others
    least = _least(x, flops * peak, area, (touched + rows * k + k * depth) * size, dtype, r)
    return Part(variant, compute, traffic, fixed, (kind, x.log2(rows), x.log2(k), x.log2(depth)), least, kind=kind)


def _least(x: Arithmetic, operations: Values, area: Values, moved: Values, dtype: str, r: Rates) -> Values:
    """µs that no algorithm goes below: the multiplications that Winograd leaves, and what has to come from memory once."""
    fewest = operations / (r.matrix[dtype] * r.ceiling(dtype)) / x.minimum(_WINOGRAD, area)
    return x.maximum(fewest, uncached(x, moved, r))


def _in_patches(
    x: Arithmetic, names: Container[str], n: Values, p: Values, q: Values, each: Values, winograd: Values
) -> dict[str, Values]:
    """The arithmetic in whole patches of images of p × q, where one position takes `each` µs; those terms that have a weight."""
    compute: dict[str, Values] = {}
    for edge in _PATCHES:
        if f"patch{edge:g}" not in names and f"patch{edge:g}_winograd" not in names:
            continue
        patches = n * x.ceil(p / edge) * x.ceil(q / edge) * edge * edge
        compute[f"patch{edge:g}"] = patches * each
        compute[f"patch{edge:g}_winograd"] = compute[f"patch{edge:g}"] * winograd
    return compute


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """The passes of one direction; `backward` is both gradients, `both` is all three passes."""
    return [work(x, f"{op}.{each}", c, dtype, r, wanted) for each in PASSES.get(direction, (direction,))]
