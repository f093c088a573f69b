"""How two things compare: the ratio of two independent estimates, with its interval and the probability that it is above 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from breakeven.stats.estimate import Estimate

Floats = NDArray[np.float64]

#: Half the width of a 90 % interval of a normal distribution, in standard deviations.
_Z90: Final = 1.6448536269514722


@dataclass(frozen=True)
class Ratio:
    """A ratio with its 90 % interval.

    Attributes:
        low: lower end.
        mid: the ratio of the two middles.
        high: upper end.
        probability: that the ratio is above 1.
    """

    low: float
    mid: float
    high: float
    probability: float

    @property
    def tie(self) -> bool:
        """Whether the interval holds 1."""
        return self.low <= 1.0 <= self.high


def draws_of(low: float, mid: float, high: float, *, draws: int, seed: int) -> Floats:
    """Draws of a positive quantity whose 90 % interval is known: log-normal on each side of its middle, shape (draws,).

    >>> bool(np.allclose(draws_of(2.0, 2.0, 2.0, draws=3, seed=0), 2.0))
    True
    """
    if not 0 < low <= mid <= high:
        raise ValueError(f"an interval of a positive quantity must have 0 < low <= mid <= high, not {low}, {mid}, {high}")
    z = np.random.default_rng(seed).standard_normal(draws)
    down, up = np.log(mid / low) / _Z90, np.log(high / mid) / _Z90
    return np.asarray(mid * np.exp(z * np.where(z < 0, down, up)))


def ratio(above: Estimate, below: Estimate, *, draws: int = 4000, seed: int = 0) -> Ratio:
    """Ratio of two independent estimates of positive quantities."""
    a = draws_of(max(above.low, 1e-12), max(above.mid, 1e-12), max(above.high, 1e-12), draws=draws, seed=2 * seed)
    b = draws_of(max(below.low, 1e-12), max(below.mid, 1e-12), max(below.high, 1e-12), draws=draws, seed=2 * seed + 1)
    return ratio_of_draws(a, b, mid=above.mid / max(below.mid, 1e-12))


def ratio_of_draws(above: ArrayLike, below: ArrayLike, *, mid: float | None = None) -> Ratio:
    """Ratio of two sets of draws, taken pair by pair; equal draws count half to each side.

    Args:
        above: draws of the numerator, shape (n,).
        below: draws of the denominator, shape (n,) or a single number; positive.
        mid: the ratio to report; the median of the draws' where None.
    """
    each = np.asarray(above, dtype=np.float64) / np.asarray(below, dtype=np.float64)
    low, middle, high = np.quantile(each, [0.05, 0.5, 0.95])
    centre = float(middle) if mid is None else mid
    probability = float((each > 1).mean() + 0.5 * (each == 1).mean())
    return Ratio(min(float(low), centre), centre, max(float(high), centre), probability)
