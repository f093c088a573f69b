"""Tables of corrections: smooth, small, and never so steep that a price would fall when a size grows."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import factorized

from breakeven.costs.table import Axis

_ROUNDS = 2
_STEPS = 60
_FULL = 0.03
_RIDGE, _JITTER = 1e-4, 1e-2
_SMALL = 1000  # unknowns up to which a system is solved as a full one


def interpolation(axes: tuple[Axis, ...], places: np.ndarray) -> sparse.csr_matrix:
    """The matrix that takes a table's values to what it says at each place."""
    rows = len(places)
    index, weight = np.zeros((rows, 1), dtype=int), np.ones((rows, 1))
    for axis, coordinate in zip(axes, places.T, strict=True):
        if axis.count == 1:
            continue
        if axis.step == 0.0:
            index = index * axis.count + coordinate.astype(int)[:, None]
            continue
        place = np.clip((coordinate - axis.start) / axis.step, 0, axis.count - 1)
        low = np.minimum(place, axis.count - 2).astype(int)
        share = (place - low)[:, None]
        below = index * axis.count + low[:, None]
        index, weight = np.hstack([below, below + 1]), np.hstack([weight * (1 - share), weight * share])
    size = int(np.prod([a.count for a in axes]))
    return sparse.csr_matrix((weight.ravel(), (np.repeat(np.arange(rows), index.shape[1]), index.ravel())), shape=(rows, size))


def beyond(axes: tuple[Axis, ...], places: np.ndarray) -> np.ndarray:
    """How far each place lies above the last knots, as `Grid.beyond`."""
    last = np.array([a.start + a.step * (a.count - 1) if a.step > 0.0 else np.inf for a in axes])
    return np.asarray(np.maximum(places - last, 0.0).sum(1))


def roughness(axes: tuple[Axis, ...], slope: float) -> sparse.csr_matrix:
    """What a smooth table has little of: bends, and (less) slopes, per neighbouring knots; as a quadratic form."""
    shape = [a.count for a in axes]
    at = np.arange(int(np.prod(shape))).reshape(shape)
    blocks = []
    for d, count in enumerate(shape):
        along = np.moveaxis(at, d, 0)
        for order, scale in (((-1.0, 1.0), slope), ((1.0, -2.0, 1.0), 1.0)):
            if count < len(order):
                continue
            taken = [along[i : count - len(order) + 1 + i].ravel() for i in range(len(order))]
            n = len(taken[0])
            entries = np.concatenate([np.full(n, scale * o) for o in order])
            blocks.append(
                sparse.csr_matrix((entries, (np.tile(np.arange(n), len(order)), np.concatenate(taken))), shape=(n, at.size))
            )
    rough = sparse.vstack(blocks).tocsr()
    return (rough.T @ rough).tocsr()


def nearness(axes: tuple[Axis, ...], reach: tuple[float, ...]) -> sparse.csr_matrix:
    """What a table has little of that is small, and alike within `reach` along each axis: away from all rows it is zero.

    The inverse covariance of a Gaussian process on the knots (Rasmussen and Williams, 2006, chapter 2), a product over the axes.
    """
    precision = sparse.identity(1)
    for axis, length in zip(axes, reach, strict=True):
        knots = axis.step * np.arange(axis.count)
        alike = np.exp(-0.5 * ((knots[:, None] - knots[None]) / length) ** 2) if axis.step else np.eye(axis.count)
        precision = sparse.kron(precision, np.linalg.inv(alike + _JITTER * np.eye(axis.count)))
    return precision.tocsr()


def table(
    axes: tuple[Axis, ...],
    places: np.ndarray,
    error: np.ndarray,
    importance: np.ndarray,
    stiff: sparse.csr_matrix,
    room: list[np.ndarray],
    share: np.ndarray,
    unit: float = 1.0,
) -> np.ndarray:
    """The table that follows `error` best (logarithms of measured over predicted) among those that fall no faster than `room`.

    Smooth as `stiff` wants, a quadratic form; nearly least absolute error, by reweighting; the constraints by alternating
    directions (Boyd et al., 2011), and what is left of a violation by `gentle`. `share`: of each row, what no correction raises
    (`Model.correction`). `unit`: how large an error of the price is here (1 / blend of a blended table).
    """
    matrix = sparse.diags(np.where(error > 0.0, 1.0 - share, 1.0)) @ interpolation(axes, places)
    edges = _edges(axes)
    limit = -np.concatenate([r.ravel() for r in room])
    row, robust = np.sqrt(importance / importance.mean()), np.ones(len(error))
    values, split = np.zeros(matrix.shape[1]), np.maximum(np.zeros(edges.shape[0]), limit)
    for _ in range(_ROUNDS):
        weight = (row * robust) ** 2
        normal = matrix.T @ sparse.diags(weight) @ matrix + stiff + _RIDGE * sparse.eye(matrix.shape[1])
        penalty = max(float(normal.diagonal().mean()), 1e-2)
        whole = normal + penalty * (edges.T @ edges)
        solve = partial(cho_solve, cho_factor(whole.toarray())) if whole.shape[0] < _SMALL else factorized(whole.tocsc())
        target, dual = matrix.T @ (weight * error), np.zeros(edges.shape[0])
        for _ in range(_STEPS):
            values = solve(target + penalty * (edges.T @ (split - dual)))
            moved = edges @ values
            split = np.maximum(moved + dual, limit)
            dual += moved - split
        robust = 1.0 / np.sqrt(np.maximum(np.abs(error - matrix @ values) / unit, _FULL) / _FULL)
    return gentle(axes, values, room)


def _edges(axes: tuple[Axis, ...]) -> sparse.csr_matrix:
    """The matrix of differences along every edge, axis by axis in the order of `growth.slack`."""
    shape = [a.count for a in axes]
    at = np.arange(int(np.prod(shape))).reshape(shape)
    blocks = []
    for d, axis in enumerate(axes):
        if axis.step == 0.0:
            continue
        first = np.take(at, range(shape[d] - 1), d).ravel()
        second = np.take(at, range(1, shape[d]), d).ravel()
        if len(first):
            n = len(first)
            blocks.append(
                sparse.csr_matrix(
                    (np.repeat([-1.0, 1.0], n), (np.tile(np.arange(n), 2), np.concatenate([first, second]))), shape=(n, at.size)
                )
            )
    return sparse.vstack(blocks).tocsr()


def gentle(axes: tuple[Axis, ...], values: np.ndarray, slack: list[np.ndarray]) -> np.ndarray:
    """The nearest table (midway between the closest above and the closest below) that falls no faster than `slack` allows.

    Args:
        slack: per axis, how much the logarithm of the formula surely grows along each edge between knots, whatever lies in the
            cells around it; the axis's own dimension is one shorter than the table's.
    """
    shape = [a.count for a in axes]
    upper, lower = values.reshape(shape).copy(), values.reshape(shape).copy()
    for _ in range(sum(shape)):
        before = upper.copy(), lower.copy()
        for d, count in enumerate(shape):
            if axes[d].step == 0.0:
                continue
            up, down, room = np.moveaxis(upper, d, 0), np.moveaxis(lower, d, 0), np.moveaxis(slack[d], d, 0)
            for i in range(count - 1):
                up[i + 1] = np.maximum(up[i + 1], up[i] - room[i])
            for i in range(count - 2, -1, -1):
                down[i] = np.minimum(down[i], down[i + 1] + room[i])
        if np.array_equal(before[0], upper) and np.array_equal(before[1], lower):
            break
    return ((upper + lower) / 2).ravel()
