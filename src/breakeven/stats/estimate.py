"""From samples to a number with its interval, and whether that number is to be trusted.

Works on samples in the order in which they were taken. What it does not know: what disturbed them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from breakeven.stats.change import changes

Floats = NDArray[np.float64]

#: Fewer samples than this give no 90 % interval of a median from order statistics: with n samples the widest one, from
#: the smallest to the largest, covers it with probability 1 - 2 / 2^n, which reaches 0.9 at n = 5 (David and Nagaraja, Order
#: Statistics, 3rd ed., section 7.1).
FEW: Final = 5
#: Level of all intervals here.
LEVEL: Final = 0.9
_Z: Final = 1.6448536269514722  # of a normal distribution, two-sided 90 %

#: A sample further from the median than this many robust standard deviations is an outlier (Iglewicz and Hoaglin 1993).
_OUTLIER: Final = 3.5
#: Robust standard deviation: the median absolute deviation of a normal distribution times this.
_MAD: Final = 1.4826
#: Part of outliers from which on they are worth a word.
_OUTLIERS: Final = 0.05
#: Least relative size of a drift, and of the distance of two modes, that a reader should hear of.
_WORTH: Final = 0.05


@dataclass(frozen=True)
class Estimate:
    """A median with its 90 % interval, in the samples' unit.

    Attributes:
        low: lower end of the interval of the median.
        mid: the median.
        high: upper end.
        n: samples that it rests on, warm-up left out.
        warmup: leading samples that were left out.
        doubts: why the number is to be taken with care: `few`, `drift`, `bimodal`, `outliers`; empty: none.
    """

    low: float
    mid: float
    high: float
    n: int
    warmup: int = 0
    doubts: tuple[str, ...] = ()

    @property
    def trusted(self) -> bool:
        """Whether there is no reason for doubt."""
        return not self.doubts


def estimate(samples_ns: ArrayLike, *, skip_warmup: bool = True) -> Estimate:
    """Estimate what a sample usually is.

    Args:
        samples_ns: in the order taken, at least one, all finite.
        skip_warmup: leave out leading samples before the steady state (`steady_from`).

    Raises:
        ValueError: there are no samples, or one is not finite.

    >>> estimate([5.0, 5.0, 6.0, 5.0, 5.0, 7.0, 5.0]).mid
    5.0
    """
    samples = np.asarray(samples_ns, dtype=np.float64).ravel()
    if not len(samples) or not np.isfinite(samples).all():
        raise ValueError(f"samples must be finite numbers and at least one, not {samples[:3]} ({len(samples)} of them)")
    first = steady_from(samples) if skip_warmup else 0
    steady = samples[first:]
    low, high = median_interval(steady)
    return Estimate(low, float(np.median(steady)), high, len(steady), first, doubts(steady))


def median_interval(samples: Floats) -> tuple[float, float]:
    """90 % interval of the median from order statistics: no assumption on the distribution.

    With fewer than five samples no such interval exists: the range of the samples is given, widened on both sides by
    itself, and `doubts` says `few`. One sample gives half and double of itself.
    """
    ordered = np.sort(samples)
    n = len(ordered)
    if n == 1:
        return float(ordered[0]) / 2, float(ordered[0]) * 2
    if n < FEW:
        spread = float(ordered[-1] - ordered[0])
        return max(float(ordered[0]) - spread, min(float(ordered[0]), 0.0)), float(ordered[-1]) + spread
    rank = max(_rank(n), 0)
    return float(ordered[rank]), float(ordered[n - 1 - rank])


def _rank(n: int) -> int:
    """Largest k for which [sample k, sample n-1-k] covers the median with at least 90 %: exact for few, else normal."""
    if n > 1000:
        return int((n - _Z * sqrt(n)) / 2)
    below, term, k = 0.0, 0.5**n, -1
    for i in range(n):
        below += term  # probability that at most i samples lie below the median
        if below > (1 - LEVEL) / 2:
            break
        k = i
        term *= (n - i) / (i + 1)
    return k if k < 0 else min(k, (n - 1) // 2)


def steady_from(samples: Floats) -> int:
    """First sample of the steady state: after the last change among the first half that leaves the level of the rest.

    A change is a place where two means explain the samples better than one does, and by enough (`changes`). What comes
    before it is warm-up where the rest rarely gets that high again.
    """
    n = len(samples)
    if n < 2 * FEW:
        return _first_call(samples)
    first = 0
    for at in changes(samples):
        usual = max(float(np.median(samples[at:])) * (1 + _WORTH), float(np.quantile(samples[at:], 0.9)))
        if at <= n // 2 and float(np.median(samples[first:at])) > usual:
            first = at
    return first or _first_call(samples)


def _first_call(samples: Floats) -> int:
    """1 where the very first sample stands far above all the others (set-up), else 0."""
    if len(samples) < 3:
        return 0
    rest = samples[1:]
    middle = float(np.median(rest))
    spread = _MAD * float(np.median(np.abs(rest - middle)))
    return int(samples[0] > max(float(rest.max()) * (1 + _WORTH), middle + _OUTLIER * spread))


def doubts(samples: Floats) -> tuple[str, ...]:
    """Reasons to take the median of these samples with care."""
    found = []
    if len(samples) < FEW:
        return ("few",)
    middle = float(np.median(samples))
    spread = _MAD * float(np.median(np.abs(samples - middle)))
    if _drifts(samples, middle, spread):
        found.append("drift")
    if _two_modes(samples, middle):
        found.append("bimodal")
    far = np.abs(samples - middle) > max(_OUTLIER * spread, _WORTH * abs(middle))
    if "bimodal" not in found and far.mean() > _OUTLIERS:
        found.append("outliers")
    return tuple(found)


def _drifts(samples: Floats, middle: float, spread: float) -> bool:
    """Whether the level rises or falls: Mann-Kendall's test at 1 %, and by at least 5 % from the first to the last third."""
    n = len(samples)
    if n < 2 * FEW:
        return False
    few = samples if n <= 400 else np.array([np.median(part) for part in np.array_split(samples, 400)])
    m = len(few)
    score = float(np.sign(few[None, :] - few[:, None])[np.triu_indices(m, 1)].sum())
    deviation = sqrt(m * (m - 1) * (2 * m + 5) / 18)
    shift = float(np.median(samples[-(n // 3) :]) - np.median(samples[: n // 3]))
    return abs(score) / deviation > 2.576 and abs(shift) > _WORTH * abs(middle) and abs(shift) > spread / 2


def _two_modes(samples: Floats, middle: float) -> bool:
    """Whether the samples fall into two groups: both hold 15 %, and the gap is wide against what is inside them.

    The best division into two groups must take away 90 % of the variance (of one normal distribution it takes 64 %: 2 / pi).
    """
    ordered = np.sort(samples)
    n = len(ordered)
    if n < 2 * FEW:
        return False
    total = np.cumsum(ordered)
    k = np.arange(1, n)
    left, right = total[:-1] / k, (total[-1] - total[:-1]) / (n - k)
    between = k * (n - k) / n**2 * (right - left) ** 2
    at = int(np.argmax(between))
    smaller = min(at + 1, n - at - 1) / n
    whole = float(ordered.var())
    apart = float(right[at] - left[at]) > _WORTH * abs(middle)
    return whole > 0 and apart and smaller >= 0.15 and float(between[at]) / whole > 0.9
