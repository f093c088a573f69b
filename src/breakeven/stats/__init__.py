"""Samples to estimates with intervals; says when a number is not to be trusted."""

from __future__ import annotations

from breakeven.stats.bootstrap import MedianInterval, bootstrap_median
from breakeven.stats.change import changes
from breakeven.stats.estimate import Estimate, doubts, estimate, median_interval, steady_from
from breakeven.stats.ratio import Ratio, draws_of, ratio, ratio_of_draws

__all__ = [
    "Estimate", "MedianInterval", "Ratio", "bootstrap_median", "changes", "doubts", "draws_of", "estimate", "median_interval",
    "ratio", "ratio_of_draws", "steady_from",
]  # fmt: skip
