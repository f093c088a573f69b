"""Intervals by split-conformal prediction: from rows that no weight has seen, by what limits them.

Which of the rules were chosen when, and which after fold 4 had been seen, docs/accuracy.md says.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from breakeven.costs.models import TINY

#: Ten factors down and ten up, by 3 · kind + limit; the last of tiny calls.
Factors = tuple[list[float], list[float]]
SHARE = 0.90
#: Rows of the calibration fold with which a device speaks for itself; with fewer, folds 0 to 2 are crossed as well. Over one size
#: `SOME` are enough.
ENOUGH = 100
SOME = 30  # rows for the quantiles of one limit: one or two beyond each end
_LEAST = 0.002  # no interval is narrower than this each way: clocks alone differ by as much
_BORROWED = 5  # rows for which the size of everybody's errors counts in a device's own; a choice, no measurement
_TELLING = 20  # the fewest rows of which one lies beyond each end of the interval
_ODDS = (1.0 - SHARE) / 2.0
#: Factors for calls that are hardly more than a launch, where no table measured any, by the beginning of the variant: how far
#: durations of such kernels in the public traces lie from the price (GP100 2 to 4 µs, A100 3 to 9.5, MI250 12 for products).
_TINY = {"conv2d": (0.4, 2.0), "recurrent": (0.4, 2.5), "copy": (0.4, 2.5)}
_TINY_OTHERS = (0.45, 2.0)


@dataclass(frozen=True)
class Errors:
    """Logarithms of measured over predicted of one device and variant on rows that no weight has seen, and what limits them."""

    error: np.ndarray
    limits: np.ndarray

    def joined(self, other: Errors) -> Errors:
        """These and others."""
        return Errors(np.concatenate([self.error, other.error]), np.concatenate([self.limits, other.limits]))


def quantile(values: np.ndarray, share: float) -> float:
    """The quantile below which the next row falls with this probability, between ranks where need be (Weibull's positions)."""
    return float(np.quantile(values, share, method="weibull"))


def factors(variant: str, errors: dict[str, Errors], few: Collection[str]) -> dict[str, Factors]:
    """Low and high factors by device and regime; devices with few rows share the form of their errors, each at its own size."""
    sizes = _sizes({name: errors[name].error for name in few})
    usual = _usual([errors[name].error for name in few])
    alike = [replace(errors[name], error=errors[name].error / _of_the_others(errors[name].error, usual)) for name in few]
    together = reduce(Errors.joined, alike) if alike else None
    found = {}
    for name, one in errors.items():
        size, rows = (sizes[name], together) if name in sizes and together is not None else (1.0, one)
        bounds = [_bounds(size * rows.error[chosen]) for chosen in _regimes(rows.limits, SOME)]
        least, most = tiny(variant, one.error, one.limits, _TELLING)
        found[name] = [*(low for low, _ in bounds), least], [*(high for _, high in bounds), most]
    return found


def _sizes(errors: dict[str, np.ndarray]) -> dict[str, float]:
    """How large each device's errors are: their mean, as if a few rows more were as large as everybody's."""
    usual = _usual(list(errors.values()))
    return {k: max((float(np.abs(e).sum()) + _BORROWED * usual) / (len(e) + _BORROWED), _LEAST) for k, e in errors.items()}


def _usual(errors: list[np.ndarray]) -> float:
    everybody = [float(np.abs(e).mean()) for e in errors if len(e)]
    return float(np.mean(everybody)) if everybody else 0.0


def _of_the_others(error: np.ndarray, usual: float) -> np.ndarray:
    """The size that a device's errors have without each row: a row that makes its own measure is never far out."""
    others = np.abs(error).sum() - np.abs(error)
    return np.maximum((others + _BORROWED * usual) / (len(error) - 1 + _BORROWED), _LEAST)


def _regimes(limits: np.ndarray, some: int) -> list[np.ndarray]:
    """Which rows speak for each of the nine regimes: its own, else those of its kind of shape, of its limit, or all."""
    found = []
    for regime in range(9):
        choices = (limits == regime, (limits // 3 == regime // 3) & (limits < TINY), (limits % 3 == regime % 3) & (limits < TINY))
        found.append(next((c for c in choices if c.sum() >= some), np.ones(len(limits), dtype=bool)))
    return found


def _bounds(error: np.ndarray) -> tuple[float, float]:
    """The factors between which nine of ten rows lie."""
    return float(np.exp(min(quantile(error, _ODDS), -_LEAST))), float(np.exp(max(quantile(error, 1.0 - _ODDS), _LEAST)))


def tiny(variant: str, error: np.ndarray, limits: np.ndarray, enough: int) -> tuple[float, float]:
    """Factors of tiny calls: of the rows themselves where there are enough, else as kernels in traces vary."""
    rows = error[limits == TINY]
    if len(rows) < enough:
        return next((f for start, f in _TINY.items() if variant.startswith(start)), _TINY_OTHERS)
    return _bounds(rows)


def pooled(variant: str, errors: list[tuple[np.ndarray, np.ndarray]]) -> Factors:
    """Low and high factors for a device that nobody measured: from devices left out, each counting by the root of its rows."""
    low, high = [], []
    values = np.concatenate([e for e, _ in errors])
    limits = np.concatenate([limit for _, limit in errors])
    weight = np.concatenate([np.full(len(e), max(len(e), 1) ** -0.5) for e, _ in errors])
    some = min(SOME, max(len(values) // 4, 4))
    for rows in _regimes(limits, some):
        low.append(float(np.exp(min(_weighted(values[rows], weight[rows], _ODDS), -_LEAST))))
        high.append(float(np.exp(max(_weighted(values[rows], weight[rows], 1.0 - _ODDS), _LEAST))))
    least, most = tiny(variant, values, limits, SOME)
    return [*low, least], [*high, most]


def _weighted(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(cumulated, share)), len(values) - 1)])
