"""Intervals by split-conformal prediction: from rows that no weight has seen, by what limits them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Nine factors down and nine up, by 3 · kind + limit.
Factors = tuple[list[float], list[float]]
_SHARE = 0.90
ENOUGH = 100  # rows of the calibration fold for quantiles of their own; with fewer, folds 0 to 2 are crossed
SOME = 30  # rows for the quantiles of one limit
_LEAST = 0.002  # no interval is narrower than this each way: clocks alone differ by as much
_ODDS = (1.0 - _SHARE) / 2.0


@dataclass(frozen=True)
class Errors:
    """Logarithms of measured over predicted of one device and variant on rows that no weight has seen, and what limits them."""

    error: np.ndarray
    limits: np.ndarray
    source: np.ndarray

    def joined(self, other: Errors) -> Errors:
        """These and others."""
        return Errors(*(np.concatenate([getattr(self, a), getattr(other, a)]) for a in ("error", "limits", "source")))


def quantile(values: np.ndarray, share: float) -> float:
    """The quantile, by the rank at or beyond the share. (Crossed rows come from fits to less data: no further row need be added.)"""
    ordered = np.sort(values)
    n = len(ordered)
    rank = int(np.ceil(n * share)) if share >= 0.5 else int(np.floor(n * share)) + 1
    return float(ordered[min(max(rank, 1), n) - 1])


def factors(errors: dict[str, Errors]) -> dict[str, Factors]:
    """Low and high factors by device and limit; a limit with few rows is served from all of the device's, a device with few from all."""
    everything = np.concatenate([e.error for e in errors.values()]) if errors else np.zeros(0)
    return {name: _of_device(one, everything) for name, one in errors.items()}


def _of_device(one: Errors, everything: np.ndarray) -> Factors:
    low, high = [], []
    for regime in range(9):
        choices = (one.limits == regime, one.limits // 3 == regime // 3, one.limits % 3 == regime % 3)
        rows = next((one.error[c] for c in choices if c.sum() >= SOME), one.error)
        if len(rows) < SOME:
            rows = np.concatenate([rows, everything])
        low.append(float(np.exp(min(quantile(rows, _ODDS), -_LEAST))))
        high.append(float(np.exp(max(quantile(rows, 1.0 - _ODDS), _LEAST))))
    return low, high


def pooled(errors: list[tuple[np.ndarray, np.ndarray]]) -> Factors:
    """Low and high factors by limit for a device that nobody measured: from devices that were left out, each counting by the root of its rows."""
    low, high = [], []
    values = np.concatenate([e for e, _ in errors])
    limits = np.concatenate([limit for _, limit in errors])
    weight = np.concatenate([np.full(len(e), max(len(e), 1) ** -0.5) for e, _ in errors])
    some = min(SOME, max(len(values) // 4, 4))
    for regime in range(9):
        choices = (limits == regime, limits // 3 == regime // 3, limits % 3 == regime % 3)
        rows = next((c for c in choices if c.sum() >= some), np.ones(len(values), dtype=bool))
        low.append(float(np.exp(min(_weighted(values[rows], weight[rows], _ODDS), -_LEAST))))
        high.append(float(np.exp(max(_weighted(values[rows], weight[rows], 1.0 - _ODDS), _LEAST))))
    return low, high


def _weighted(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(cumulated, share)), len(values) - 1)])
