"""The median with its bootstrap interval, exact and without draws, for samples that may hang together in time.

Samples of a clock are rarely independent: other load comes and goes in stretches longer than one sample. The interval therefore
rests on the number of independent samples that they are worth. What it cannot know: load that changes more slowly than the whole
series lasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, erf, floor, sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

#: Window of the sum of autocorrelations, in units of the time it gives (Sokal 1997, section 3: 4 to 10).
_WINDOW: Final = 5.0
#: Fewer samples than this say nothing on how they hang together.
_SHORT: Final = 6
#: Samples from which on a binomial distribution is taken as normal.
_MANY: Final = 2000


@dataclass(frozen=True)
class MedianInterval:
    """A median with its bootstrap interval, in the samples' unit.

    Attributes:
        low: lower end.
        mid: the median.
        high: upper end.
        level: probability with which the interval holds the median of what the samples come from.
        n: samples.
        worth: independent samples that they are worth, at most `n`.
    """

    low: float
    mid: float
    high: float
    level: float
    n: int
    worth: float

    @property
    def half_width(self) -> float:
        """The larger distance of an end from the middle, as a part of the middle; infinite where that is not positive."""
        return max(self.high - self.mid, self.mid - self.low) / self.mid if self.mid > 0 else float("inf")


def bootstrap_median(samples: ArrayLike, level: float = 0.95) -> MedianInterval:
    """The median of samples in the order taken, with its percentile-bootstrap interval.

    The bootstrap distribution of a median is known without drawing (Efron 1979, section 3): a resample's median lies at or below
    the k-th smallest sample where at least half of it does, which a binomial distribution gives. Of samples that hang together,
    a resample is as large as they are worth, so that the interval is as wide as that many independent ones would make it. Its
    ends are interpolated between neighbouring samples.

    Args:
        samples: at least one, finite.
        level: of the interval.

    Raises:
        ValueError: there are no samples, or one is not finite.

    >>> bootstrap_median([4.0, 5.0, 5.0, 6.0, 5.0, 4.0, 6.0, 5.0]).mid
    5.0
    """
    series = np.asarray(samples, dtype=np.float64).ravel()
    n = len(series)
    if not n or not np.isfinite(series).all():
        raise ValueError(f"samples must be finite numbers and at least one, not {series[:3]} ({n} of them)")
    ordered = np.sort(series)
    middle = float(np.median(ordered))
    if n == 1:
        return MedianInterval(middle / 2, middle, middle * 2, level, 1, 1.0)
    worth = n / correlation_time(series)
    tail = (1 - level) / 2
    at = _position(n, worth, tail)
    low, high = _between(ordered, at), -_between(-ordered[::-1], at)
    if at < 1:  # too few for the level: beyond the extremes by what is missing of it
        beyond = (1 - at) * float(ordered[-1] - ordered[0])
        low, high = max(low - beyond, min(low, 0.0)), high + beyond
    return MedianInterval(min(low, middle), middle, max(high, middle), level, n, worth)


def correlation_time(samples: Floats) -> float:
    """How many neighbouring samples count as one for their median: 1 for independent ones.

    The larger of two estimates. One is one plus twice the sum of the autocorrelations of being above the median, up to a window
    that the sum itself sets (Sokal 1997); it needs long series. The other is that of an autoregression of the first order,
    (1 + r) / (1 - r), for short ones; its r is that of neighbours' ranks. The bias of an estimated autocorrelation, about
    -(1 + 3 r) / n, is put back (Kendall 1954).

    >>> correlation_time(np.array([1.0, 2.0] * 40))
    1.0
    """
    n = len(samples)
    if n < _SHORT or float(samples.max()) == float(samples.min()):
        return 1.0
    ranks = _ranks(samples)
    r = _autocorrelations(ranks - ranks.mean())[1]
    r = min(r + (1 + 3 * r) / n, 1 - 2 / n)
    first_order = (1 + r) / (1 - r) if r > 1 / sqrt(n) else 1.0
    return min(max(_summed(np.sign(samples - np.median(samples))), first_order, 1.0), n / 2)


def _summed(above: Floats) -> float:
    sums = _autocorrelations(above)
    time = 1.0
    for lag in range(1, len(sums)):
        time += 2 * (float(sums[lag]) + 1 / len(above))
        if lag >= _WINDOW * time:
            break
    return time


def _autocorrelations(centred: Floats) -> Floats:
    """Of lags 0 to half the series; zero where nothing varies."""
    n = len(centred)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    sums = np.fft.irfft(spectrum * np.conj(spectrum), size)[: n // 2 + 1]
    return np.asarray(sums / max(float(sums[0]), 1e-300))


def _ranks(samples: Floats) -> Floats:
    """Ranks; equal samples get their middle one."""
    ordered = np.sort(samples)
    return (np.searchsorted(ordered, samples, "left") + np.searchsorted(ordered, samples, "right")) / 2.0


def _position(n: int, worth: float, tail: float) -> float:
    """The place, counted from 1, below which a resample's median falls with probability `tail`; below 1: beyond the extreme."""
    size = max(int(worth), 1)
    need = size // 2 + 1
    low, high = 0.0, n / 2
    for _ in range(40):
        place = (low + high) / 2
        if _at_least(need, size, place / n) > tail:
            high = place
        else:
            low = place
    return low


def _at_least(need: int, size: int, chance: float) -> float:
    """Probability that at least `need` of `size` draws fall where each does with `chance`."""
    if chance <= 0:
        return 0.0
    if size > _MANY:
        return 0.5 - 0.5 * erf((need - 0.5 - size * chance) / sqrt(2 * size * chance * (1 - chance)))
    k = np.arange(1, size + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log((size - k + 1) / k))]) + np.arange(size + 1) * np.log(chance)
    logs += (size - np.arange(size + 1)) * np.log1p(-chance)
    return float(np.exp(logs[need:]).sum())


def _between(ordered: Floats, place: float) -> float:
    """The sample at a place counted from 1, interpolated; the extreme where the place lies beyond it."""
    at = min(max(place - 1, 0.0), len(ordered) - 1.0)
    below, part = ordered[floor(at)], at - floor(at)
    return float(below + part * (ordered[ceil(at)] - below))
