"""How fast a formula surely grows from knot to knot, so that a table of corrections may fall by no more than that."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from breakeven.costs.arithmetic import TABLE
from breakeven.costs.families import conv, matmul, recurrent, rows
from breakeven.costs.families.part import SMOOTH, Part
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from fitting.measurements import EVERY, Everything

#: Terms that go up in steps: between steps they stand still.
_STEPPED = ("patch", "padded", "blocks")
_NUDGE = 0.02  # of a factor of two
#: Share of the growth that is granted: cells are sampled, not searched.
_GRANTED = 0.8
_SAMPLES = (0.0, 0.35, 0.7, 1.0)
#: Edges of filters by kind in the convolutions' table.
_FILTERS = (3.0, 1.0, 5.0)


def _all(variant: str) -> Everything:
    return EVERY


def parts_at(variant: str, places: np.ndarray, dtype: str, device: Rates) -> list[Part]:
    """Parts that lie at these places of the variant's table: one for each way of being there that matters."""
    sizes = 2.0**places.T
    if variant in matmul.AXES:
        return [matmul.product(TABLE, variant, (sizes[0], sizes[1], sizes[2], sizes[3]), dtype, device, _all)]
    if variant in conv.AXES:
        filters = np.array(_FILTERS)[places[:, 0].astype(int)]
        shape = {"n": sizes[1] / 196.0, "c": np.maximum(sizes[3] / filters**2, 1.0), "h": 14.0, "w": 14.0, "k": sizes[2]}
        shape |= {"r": filters, "s": filters, "pad_h": filters // 2, "pad_w": filters // 2, "stride_h": 1.0, "stride_w": 1.0}
        return [conv.work(TABLE, variant, shape, dtype, device, _all)]
    if variant in recurrent.AXES:
        return [
            recurrent.chain(
                TABLE, op, variant.split(".")[1], {"batch": sizes[0], "hidden": sizes[1], "timesteps": steps}, dtype, device, _all
            )
            for op in ("rnn", "lstm")
            for steps in (1.0, 50.0)
        ]
    if variant in rows.AXES:
        return [rows.kernel(TABLE, variant, {"rows": sizes[0], "cols": sizes[1]}, 2.0, dtype, device)]
    moved = {"bytes": 2.0 ** places[:, 0]}
    from breakeven.costs.families import elementwise

    return [elementwise.stream(TABLE, variant, moved["bytes"], moved["bytes"] / 8.0, dtype, device)]


def at_knots(variant: str, axes: tuple[Axis, ...], weights: Mapping[str, float], dtype: str, devices: list[Rates]) -> np.ndarray:
    """The natural logarithm of the formula at every knot: its mean over the devices, made never to fall."""
    knots = [a.start + (a.step or 1.0) * np.arange(a.count) for a in axes]
    places = np.stack(np.meshgrid(*knots, indexing="ij"), -1).reshape(-1, len(axes))
    logs = [np.log(_sums(parts_at(variant, places, dtype, device), weights)[0][0]) for device in devices]
    values = np.mean(logs, 0).reshape([a.count for a in axes])
    for d, axis in enumerate(axes):
        if axis.step > 0.0:
            values = np.maximum.accumulate(values, axis=d)
    return np.asarray(values.ravel())


def slack(
    variant: str, axes: tuple[Axis, ...], weights: Mapping[str, float], dtype: str, devices: list[Rates]
) -> list[np.ndarray]:
    """Per axis and edge between knots: the natural logarithm by which the formula surely grows, on every one of the devices."""
    corners = np.stack(np.meshgrid(*[np.arange(max(a.count - 1, 1)) for a in axes], indexing="ij"), -1)
    cells = corners.reshape(-1, len(axes)).astype(float)
    shape = [max(a.count - 1, 1) for a in axes]
    least = [np.full(shape, np.inf) for _ in axes]
    wide = [d for d, a in enumerate(axes) if a.count > 1]
    points = list(itertools.product(*[(_SAMPLES if len(wide) < 3 else (0.0, 1.0)) if a.count > 1 else (0.0,) for a in axes]))
    middle = tuple(0.5 if a.count > 1 else 0.0 for a in axes)
    inside = [
        (np.stack([a.start + a.step * (cells[:, d] + offsets[d]) for d, a in enumerate(axes)], 1), -1)
        for offsets in (*points, middle)
    ]
    for places, beyond in (*inside, *_outside(cells, axes, wide, middle)):
        for device in devices:
            whole, sure = _sums(parts_at(variant, places, dtype, device), weights)
            for d in (d for d in wide if d != beyond):  # beyond its own ends a table is level
                moved = places.copy()
                moved[:, d] += _NUDGE
                _, further = _sums(parts_at(variant, moved, dtype, device), weights)
                for total, before, after in zip(whole, sure, further, strict=True):
                    rate = np.maximum(after - before, 0.0) / _NUDGE / np.maximum(total, 1e-12)
                    least[d] = np.minimum(least[d], rate.reshape(shape))
    return [
        _per_edge(least[d], d, axes) * _GRANTED * axes[d].step if axes[d].count > 1 else np.zeros((0,)) for d in range(len(axes))
    ]


def _outside(
    cells: np.ndarray, axes: tuple[Axis, ...], wide: list[int], middle: tuple[float, ...]
) -> list[tuple[np.ndarray, int]]:
    """The cells at an axis's ends seen from beyond: at a size of one, and a thousand times as large as the last knot."""
    found = []
    for d in wide:
        last = axes[d].count - 2
        for corner, size in ((0, 0.0), (last, axes[d].start + axes[d].step * (last + 1) + 10.0)):
            for share in (0.0, 1.0):  # of the other axes' cells
                places = np.stack(
                    [
                        a.start + a.step * (cells[:, e] + (share if e != d and a.count > 1 else middle[e]))
                        for e, a in enumerate(axes)
                    ],
                    1,
                )
                places[cells[:, d] == corner, d] = size
                found.append((places, d))
    return found


def _per_edge(cells: np.ndarray, d: int, axes: tuple[Axis, ...]) -> np.ndarray:
    """An edge may fall by what the least growing of the cells around it allows."""
    edges = cells
    for other, axis in enumerate(axes):
        if other == d or axis.count == 1:
            continue
        first, last = np.take(edges, [0], other), np.take(edges, [-1], other)
        edges = np.minimum(np.concatenate([first, edges], other), np.concatenate([edges, last], other))
    return edges


def _sums(parts: list[Part], weights: Mapping[str, float]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of each part: its time by the formula, and the share of it that grows steadily."""
    whole, sure = [], []
    for part in parts:
        total, steady = np.zeros(1), np.zeros(1)
        flops = part.compute.get("flops", 0.0)
        for kind in ("compute", "traffic", "fixed"):
            for name, value in getattr(part, kind).items():
                weight = weights.get(f"{kind}:{name}", 0.0)
                if weight == 0.0:
                    continue
                total = total + weight * value
                if name.startswith(("wave", "at_once")):
                    steady = steady + weight * SMOOTH * flops
                elif not name.startswith(_STEPPED):
                    steady = steady + weight * value
        whole.append(total)
        sure.append(steady)
    return whole, sure
