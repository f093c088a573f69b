"""How far runs of the same thing lie apart, and an interval that holds that.

One run sees what changes while it lasts. A machine whose speed wanders more slowly gives runs that disagree by more than each of
them knows; only other runs of the same thing tell by how much. What it does not know: whether the next change is like the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist, fmean
from typing import Final

#: Fewer degrees of freedom say too little: Student's factor is then above 4 at 95 %.
LEAST_FREEDOM: Final = 3


@dataclass(frozen=True)
class Spread:
    """Runs of the same thing beside each other.

    Attributes:
        sd: standard deviation of the logarithm of a run's time about the mean of its group.
        freedom: degrees of freedom that it rests on: runs less groups.
        runs: runs of groups with more than one.
    """

    sd: float
    freedom: int
    runs: int

    def factor(self, level: float) -> float:
        """By how much a single run may lie off the mean of all, either way, with probability `level`; at least 1."""
        return exp(student(self.freedom, level) * self.sd)


def spread_of(groups: Iterable[Sequence[float]]) -> Spread | None:
    """The pooled spread within groups of positive times, each of the same thing; None: too few runs to say.

    >>> spread_of([[7.0, 7.7, 7.0, 7.7], [2.0]]).runs
    4
    """
    told = [[log(time) for time in group if time > 0] for group in groups]
    told = [group for group in told if len(group) > 1]
    freedom = sum(len(group) - 1 for group in told)
    if freedom < LEAST_FREEDOM:
        return None
    squares = sum((value - fmean(group)) ** 2 for group in told for value in group)
    return Spread(sqrt(squares / freedom), freedom, sum(map(len, told)))


def widened(low: float, mid: float, high: float, factor: float) -> tuple[float, float, float]:
    """An interval, at least as wide as a factor about its middle: what differs between runs holds what differs within one."""
    return min(low, mid / factor), mid, max(high, mid * factor)


def student(freedom: int, level: float) -> float:
    """Student's two-sided quantile, by its expansion about the normal one (Abramowitz and Stegun, 26.7.5).

    Within 1 % from three degrees of freedom on, at levels up to 95 %.

    >>> round(student(10, 0.95), 2)
    2.23
    """
    z = NormalDist().inv_cdf((1 + level) / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom ** (at + 1) for at, term in enumerate(terms)))
