"""A time as a sum of positive parts: fitted to few cells in relative terms, with what is left over carried to the cells between.

What it does not know: steps in the curve between two cells that were run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """Non-negative weights of the features, and the residuals (log) of the cells that they were fitted to.

    Attributes:
        weights: shape (f,).
        left: log of true over fitted, shape (n,).
        at: where those cells lie, shape (n, d).
        error: log error of the fit where a cell was left out of it; root mean square. nan: too few cells to say.
    """

    weights: Floats
    left: Floats
    at: Floats
    error: float

    def value(self, features: Floats, at: Floats) -> Floats:
        """The time at other cells: the sum of the parts times the residual of the cells around; shape (m,)."""
        mid: Floats = np.maximum(features @ self.weights, 1e-300) * np.exp(shares(at, self.at) @ self.left)
        return mid


def fit(features: Floats, times: Floats, at: Floats) -> Fit:
    """Fit times of cells.

    Args:
        features: what the time may be made of, shape (n, f), not negative.
        times: positive, shape (n,).
        at: where the cells lie, shape (n, d).
    """
    weights = nonnegative(features, times)
    left = _left(features, times, weights)
    errors = []
    for out in range(len(times)) if len(times) > 2 else ():
        kept = np.arange(len(times)) != out
        partial = nonnegative(features[kept], times[kept])
        one = Fit(partial, _left(features[kept], times[kept], partial), at[kept], 0.0)
        errors.append(float(np.log(times[out] / one.value(features[out : out + 1], at[out : out + 1])[0])))
    return Fit(weights, left, at, float(np.sqrt(np.mean(np.square(errors)))) if errors else float("nan"))


def _left(features: Floats, times: Floats, weights: Floats) -> Floats:
    return np.log(times / np.maximum(features @ weights, 1e-300))


def nonnegative(features: Floats, times: Floats) -> Floats:
    """Least squares of relative errors with weights that are not negative; fewer parts where more explain hardly better.

    All subsets of the features are tried: there are few.

    >>> nonnegative(np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 4.0]]), np.array([3.0, 5.0, 9.0])).round(6).tolist()
    [1.0, 2.0]
    """
    count, width = features.shape
    best, least = np.zeros(width), np.inf
    scaled = features / times[:, None]
    for size in range(1, min(width, count) + 1):
        for subset in itertools.combinations(range(width), size):
            part = scaled[:, subset]
            weights, *_ = np.linalg.lstsq(part, np.ones(count), rcond=None)
            if (weights < 0).any():
                continue
            misses = float(np.square(part @ weights - 1).sum()) + 1e-12
            if misses < 0.5 * least or (misses < least and size == 1):
                least, best = misses, np.zeros(width)
                best[list(subset)] = weights
    return best


def shares(at: Floats, known: Floats) -> Floats:
    """How much each known cell says of each other one, by the inverse square of the distance; shape (m, n)."""
    apart = np.square(at[:, None, :] - known[None, :, :]).sum(axis=2)
    near = 1.0 / np.maximum(apart, 1e-12)
    weighted: Floats = near / near.sum(axis=1, keepdims=True)
    return weighted
