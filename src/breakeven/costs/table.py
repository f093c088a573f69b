"""Tables of corrections: values on a regular grid of logarithms, interpolated linearly in each direction, constant outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.arithmetic import Arithmetic, Values


@dataclass(frozen=True)
class Axis:
    """Knots of one coordinate: `count` of them, `step` apart, from `start` on.

    A step of 0 is an axis of kinds: the coordinate is one of 0 to `count` − 1, and nothing lies between them.
    """

    start: float
    step: float
    count: int


@dataclass(frozen=True, eq=False)
class Grid:
    """Values at every combination of knots, the last axis fastest; as a list for single calls and as an array for tables.

    Attributes:
        spans: start, step and count of each axis.
        corners: how far the knots around a point lie behind the first of them, the last axis fastest.
    """

    axes: tuple[Axis, ...]
    values: Sequence[float]
    array: NDArray[np.float64]
    spans: tuple[tuple[float, float, int], ...]
    corners: tuple[int, ...]

    @classmethod
    def of(cls, axes: tuple[Axis, ...], values: Sequence[float]) -> Grid:
        """A grid from its axes and values."""
        corners = [0]
        for axis in axes:
            wide = axis.count > 1 and axis.step > 0.0
            corners = [c * axis.count + further for c in corners for further in ((0, 1) if wide else (0,))]
        spans = tuple((axis.start, axis.step, axis.count) for axis in axes)
        return cls(axes, values, np.array(values), spans, tuple(corners))

    def at(self, x: Arithmetic, coordinates: Sequence[Values]) -> Values:
        """The value between the knots around a point (or around each of many)."""
        first: Values = 0
        shares: list[Values] = []
        for (start, step, count), coordinate in zip(self.spans, coordinates, strict=True):
            if count == 1:
                continue
            if step == 0.0:
                first = first * count + x.whole(coordinate)
                continue
            place = x.minimum(x.maximum((coordinate - start) / step, 0.0), count - 1.0)
            low = x.whole(x.minimum(place, count - 2.0))
            shares.append(place - low)
            first = first * count + low
        around = x.around(self.values, self.array, first, self.corners)
        for share in reversed(shares):  # halves the list each time: between pairs along the last axis, then the one before it
            around = [a + share * (b - a) for a, b in zip(around[::2], around[1::2], strict=True)]
        return around[0]

    def beyond(self, x: Arithmetic, coordinates: Sequence[Values]) -> Values:
        """How far a point lies above the last knots, all axes together: logarithm to base 2."""
        total: Values = 0.0
        for axis, coordinate in zip(self.axes, coordinates, strict=True):
            if axis.step > 0.0:
                total = total + x.maximum(coordinate - (axis.start + axis.step * (axis.count - 1)), 0.0)
        return total
