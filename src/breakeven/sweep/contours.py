"""The line between CPU and GPU on a map of two parameters: where the lead of one over the other is zero, and its 90 % band.

The lead is known on a lattice finer than the grid; between two of its points the zero is found on the straight line of
logarithms, and marching squares (Lorensen and Cline 1987, in two dimensions) joins the zeros. What it does not know: an
island that is smaller than a square of the lattice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.results.swept import Contour, ContourPoint, Crossing, Value
from breakeven.sweep.crossing import HIGH, LOW
from breakeven.sweep.design import places
from breakeven.sweep.grid import Axis, Grid
from breakeven.sweep.model import CPU, Model, numbers

Floats = NDArray[np.float64]
Point = tuple[float, float]
Edge = tuple[int, int, bool]

#: Points of the lattice along one axis, about: four for each step of an axis of eight values.
_ALONG: Final = 29


def contours(model: Model, found: Sequence[Crossing], words: Sequence[Value | None]) -> tuple[Contour, ...]:
    """The line between the CPU and each GPU on the map of the first two numeric parameters; the others at their first value.

    Args:
        model: the devices.
        found: the crossings, for the points of the line at the grid's own values.
        words: of each parameter that is no number, the value that this model is of; None for the others.
    """
    pair = mapped(model.grid)
    if CPU not in model.devices or pair is None:
        return ()
    x, y = pair
    held = {axis.name: axis.values[0] for axis in model.grid.axes if axis.name not in (x.name, y.name)}
    held |= {axis.name: word for axis, word in zip(model.grid.axes, words, strict=True) if word is not None}
    across, up = _fine(x), _fine(y)
    leads = _leads(model, x, y, across, up, held)
    out = []
    for gpu, (mid, low, high) in leads.items():
        lines, surely, hardly = (zeros(np.log(across), np.log(up), field) for field in (mid, low, high))
        out.append(Contour(x.name, y.name, gpu, _points(found, gpu, x, y, held), lines, surely, hardly))
    return tuple(out)


def mapped(grid: Grid) -> tuple[Axis, Axis] | None:
    """The two parameters of the map; None: there are not two numeric ones with several positive values."""
    numeric = [a for a in grid.axes if a.is_number and len(a.values) > 1 and float(a.values[0]) > 0]
    return (numeric[0], numeric[1]) if len(numeric) > 1 else None


def _points(found: Sequence[Crossing], gpu: str, x: Axis, y: Axis, held: Mapping[str, Value]) -> tuple[ContourPoint, ...]:
    points = [
        ContourPoint(float(c.at[y.name]), c.value, c.low, c.high, c.outcome)
        for c in found
        if c.gpu == gpu and c.parameter == x.name and all(c.at[name] == value for name, value in held.items())
    ]
    return tuple(sorted(points, key=lambda p: p.y))


def _fine(axis: Axis) -> Floats:
    """The axis's values and equal steps of logarithms between them."""
    values = np.array(axis.values, dtype=float)
    each = max(1, (_ALONG - 1) // (len(values) - 1))
    parts = [np.geomspace(a, b, each, endpoint=False) for a, b in pairwise(values)]
    return np.concatenate([*parts, values[-1:]])


def _leads(
    model: Model, x: Axis, y: Axis, across: Floats, up: Floats, held: Mapping[str, Value]
) -> dict[str, tuple[Floats, Floats, Floats]]:
    """Log of the CPU's step over each GPU's, shape (y, x): at the middle, and that which 95 % and 5 % of the draws exceed."""
    cells = [
        tuple(
            float(a) if axis.name == x.name else float(b) if axis.name == y.name else held[axis.name] for axis in model.grid.axes
        )
        for b in up
        for a in across
    ]
    parameters, at = numbers(model.grid, cells), places(model.grid, cells)
    steps = {name: device.steps(parameters, at) for name, device in model.devices.items()}
    shape = (len(up), len(across))
    out = {}
    for name in [n for n in steps if n != CPU]:
        mid = np.log(steps[CPU].mid) - np.log(steps[name].mid)
        low, high = np.quantile(np.log(steps[CPU].draws) - np.log(steps[name].draws), [LOW, HIGH], axis=1)
        out[name] = (mid.reshape(shape), np.minimum(low, mid).reshape(shape), np.maximum(high, mid).reshape(shape))
    return out


def zeros(x: Floats, y: Floats, field: Floats) -> tuple[tuple[Point, ...], ...]:
    """The lines along which a field is zero.

    Args:
        x: logarithms of the values across, shape (n,).
        y: of those up, shape (m,).
        field: shape (m, n).

    Returns:
        Each line as points (x, y), out of logarithms; a closed one ends where it began.

    >>> x = np.log(np.array([1.0, 4.0])); [line] = zeros(x, x, np.array([[-1.0, 1.0], [-1.0, 1.0]]))
    >>> [tuple(round(v, 6) for v in point) for point in line]
    [(2.0, 1.0), (2.0, 4.0)]
    """
    joined: dict[Edge, list[Edge]] = {}
    for row in range(len(y) - 1):
        for column in range(len(x) - 1):
            for one, other in _square(field, row, column):
                joined.setdefault(one, []).append(other)
                joined.setdefault(other, []).append(one)
    return tuple(tuple(_place(x, y, field, edge) for edge in chain) for chain in _chains(joined))


def _square(field: Floats, row: int, column: int) -> list[tuple[Edge, Edge]]:
    """Which edges of a square the line joins. An edge is (row, column, whether it goes up)."""
    bottom, top, left, right = (row, column, False), (row + 1, column, False), (row, column, True), (row, column + 1, True)
    corners = field[row : row + 2, column : column + 2] > 0
    crossed = [
        edge
        for edge, a, b in (
            (bottom, corners[0, 0], corners[0, 1]), (right, corners[0, 1], corners[1, 1]),
            (top, corners[1, 0], corners[1, 1]), (left, corners[0, 0], corners[1, 0]),
        )
        if a != b
    ]  # fmt: skip
    if len(crossed) < 4:
        return [(crossed[0], crossed[1])] if crossed else []
    # A saddle: the middle says which corners belong together.
    middle = field[row : row + 2, column : column + 2].mean() > 0
    return [(bottom, right), (top, left)] if middle == corners[0, 0] else [(bottom, left), (top, right)]


def _chains(joined: dict[Edge, list[Edge]]) -> list[list[Edge]]:
    """Edges in the order of the lines that they lie on: open lines from their ends, then closed ones."""
    left = dict.fromkeys(sorted(joined))
    out = []
    for start in [*(edge for edge in left if len(joined[edge]) == 1), *left]:
        if start not in left:
            continue
        chain, at = [start], start
        del left[start]
        while (after := next((edge for edge in joined[at] if edge in left), None)) is not None:
            chain.append(after)
            del left[after]
            at = after
        out.append([*chain, start] if len(chain) > 2 and start in joined[at] else chain)
    return out


def _place(x: Floats, y: Floats, field: Floats, edge: Edge) -> Point:
    row, column, goes_up = edge
    a, b = field[row, column], field[row + goes_up, column + (not goes_up)]
    part = a / (a - b)
    along = y[row] + (y[row + 1] - y[row]) * part if goes_up else x[column] + (x[column + 1] - x[column]) * part
    return (float(np.exp(x[column])), float(np.exp(along))) if goes_up else (float(np.exp(along)), float(np.exp(y[row])))
