"""Tables of corrections: values on a regular grid of logarithms, interpolated linearly in each direction, constant outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.arithmetic import Arithmetic, Values


@dataclass(frozen=True)
class Axis:
    """Knots of one coordinate: `count` of them, `step` apart, from `start` on."""

    start: float
    step: float
    count: int


@dataclass(frozen=True, eq=False)
class Grid:
    """Values at every combination of knots, the last axis fastest; as a list for single calls and as an array for tables."""

    axes: tuple[Axis, ...]
    values: Sequence[float]
    array: NDArray[np.float64]

    def at(self, x: Arithmetic, coordinates: Sequence[Values]) -> Values:
        """The value between the knots around a point (or around each of many)."""
        corners: list[tuple[Values, Values]] = [(0, 1.0)]
        for axis, coordinate in zip(self.axes, coordinates, strict=True):
            if axis.count == 1:
                continue
            place = x.minimum(x.maximum((coordinate - axis.start) / axis.step, 0.0), axis.count - 1.0)
            low = x.whole(x.minimum(place, axis.count - 2.0))
            share = place - low
            rest = 1.0 - share
            corners = [
                corner
                for index, weight in corners
                for corner in ((index * axis.count + low, weight * rest), (index * axis.count + low + 1, weight * share))
            ]
        total: Values = 0.0
        for index, weight in corners:
            total = total + weight * x.take(self.values, self.array, index)
        return total
