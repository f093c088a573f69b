"""Where the level of a series changes: exact penalised least squares (PELT), single outliers aside."""

from __future__ import annotations

from math import log
from typing import Final

import numpy as np
from numpy.typing import NDArray

#: Samples beyond which the series is looked at in groups: the search is quadratic at worst.
_MOST: Final = 500
#: Shortest stretch between two changes, samples.
_SHORTEST: Final = 3


def changes(samples: NDArray[np.float64], penalty: float | None = None) -> list[int]:
    """Positions at which a new level begins, in order.

    Args:
        samples: in the order taken, shape (n,).
        penalty: cost of one change in units of the noise's variance; the default is three times ln n, the usual choice
            for a change of mean (Killick, Fearnhead and Eckley 2012).

    >>> changes(np.array([9.0] * 10 + [1.0] * 10))
    [10]
    """
    n = len(samples)
    group = -(-n // _MOST) if n > _MOST else 1
    series = samples if group == 1 else np.array([np.median(samples[i : i + group]) for i in range(0, n, group)])
    if len(series) < 2 * _SHORTEST or series.max() == series.min():
        return []
    scaled = _scaled(series)
    cost = 3 * log(len(series)) if penalty is None else penalty
    return [at * group for at in _pelt(scaled, cost)]


def _scaled(series: NDArray[np.float64]) -> NDArray[np.float64]:
    """The series in units of its noise (from neighbouring differences), outliers pulled in by a running median of three."""
    padded = np.concatenate([series[:1], series, series[-1:]])
    smooth = np.median(np.stack([padded[:-2], padded[1:-1], padded[2:]]), axis=0)
    noise = float(np.median(np.abs(np.diff(series)))) / 0.954  # median of |difference| of two normal samples, in their sd
    floor = 0.01 * float(np.median(np.abs(series)))  # clocks and rounding: levels closer than 1 % are one
    return np.asarray(smooth / max(noise, floor, 1e-300))


def _pelt(x: NDArray[np.float64], penalty: float) -> list[int]:
    """Optimal changes of mean under a penalty per change."""
    n = len(x)
    first, second = np.concatenate([[0.0], np.cumsum(x)]), np.concatenate([[0.0], np.cumsum(x * x)])
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    back = np.zeros(n + 1, dtype=np.int64)
    starts = np.array([0])
    for end in range(_SHORTEST, n + 1):
        length = end - starts
        mean_part = (first[end] - first[starts]) ** 2 / length
        costs = best[starts] + (second[end] - second[starts]) - mean_part + penalty
        at = int(np.argmin(costs))
        best[end], back[end] = costs[at], starts[at]
        starts = np.append(starts[costs - penalty <= best[end]], end - _SHORTEST + 1)
    found, at = [], n
    while at > 0:
        at = int(back[at])
        found.append(at)
    return sorted(found[:-1])
