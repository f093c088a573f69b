"""Intervals by split-conformal prediction: from rows that no weight has seen, by what limits them, scaled by each device's own spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Factors = tuple[tuple[float, float, float], tuple[float, float, float]]
_SHARE = 0.90
_ENOUGH = 60  # rows for quantiles of their own
_SOME = 8  # rows for a spread of their own
_LEAST = 0.002  # no interval is narrower than this each way: clocks alone differ by as much
_ODDS = (1.0 - _SHARE) / 2.0


@dataclass(frozen=True)
class Errors:
    """Logarithms of measured over predicted of one device and variant.

    Attributes:
        seen: rows of the fit; new: rows of the calibration; each with what limits them.
    """

    seen: np.ndarray
    seen_limits: np.ndarray
    new: np.ndarray
    new_limits: np.ndarray


def quantile(values: np.ndarray, share: float) -> float:
    """The conformal quantile: with n rows, rank ⌈(n + 1)·share⌉ from the far side."""
    ordered = np.sort(values)
    n = len(ordered)
    if share >= 0.5:
        return float(ordered[min(int(np.ceil((n + 1) * share)), n) - 1])
    return float(ordered[max(int(np.floor((n + 1) * share)), 1) - 1])


def factors(errors: dict[str, Errors]) -> dict[str, Factors]:
    """Low and high factors by device and limit; devices with few rows share the shape of their errors, scaled by their own spread."""
    scaled = []
    for one in errors.values():
        for limit in range(3):
            rows = one.new[one.new_limits == limit]
            if len(rows) and len(one.new) < 3 * _ENOUGH:
                scaled.append(rows / spread(one, limit))
    pool = np.concatenate(scaled) if scaled else np.zeros(0)
    if len(pool) < _ENOUGH:
        pool = np.concatenate([one.new[one.new_limits == limit] / spread(one, limit) for one in errors.values() for limit in range(3)])
    shape = (quantile(pool, _ODDS), quantile(pool, 1.0 - _ODDS)) if len(pool) >= 5 else (-3.0, 3.0)
    return {name: _of_device(one, shape) for name, one in errors.items()}


def spread(one: Errors, limit: int) -> float:
    """Median absolute error of a device under one limit: over fitted and new rows, so that a close fit does not deceive."""
    of_limit = np.abs(np.concatenate([one.seen[one.seen_limits == limit], one.new[one.new_limits == limit]]))
    everything = np.abs(np.concatenate([one.seen, one.new]))
    chosen = of_limit if len(of_limit) >= _SOME else everything
    return max(float(np.median(chosen)), _LEAST) if len(chosen) else 0.1


def _of_device(one: Errors, shape: tuple[float, float]) -> Factors:
    low, high = [], []
    for limit in range(3):
        rows = one.new[one.new_limits == limit]
        if len(rows) >= _ENOUGH:
            down, up = quantile(rows, _ODDS), quantile(rows, 1.0 - _ODDS)
        else:
            down, up = (s * spread(one, limit) for s in shape)
        low.append(float(np.exp(min(down, -_LEAST))))
        high.append(float(np.exp(max(up, _LEAST))))
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def pooled(errors: list[tuple[np.ndarray, np.ndarray]]) -> Factors:
    """Low and high factors by limit for a device that nobody measured: from devices that were left out, each counting the same."""
    low, high = [], []
    values = np.concatenate([e for e, _ in errors])
    limits = np.concatenate([limit for _, limit in errors])
    weight = np.concatenate([np.full(len(e), 1.0 / max(len(e), 1)) for e, _ in errors])
    for limit in range(3):
        rows = limits == limit
        if rows.sum() < _ENOUGH:
            rows = np.ones(len(values), dtype=bool)
        low.append(float(np.exp(min(_weighted(values[rows], weight[rows], _ODDS), -_LEAST))))
        high.append(float(np.exp(max(_weighted(values[rows], weight[rows], 1.0 - _ODDS), _LEAST))))
    return (low[0], low[1], low[2]), (high[0], high[1], high[2])


def _weighted(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    order = np.argsort(values)
    cumulated = np.cumsum(weight[order]) / weight.sum()
    return float(values[order][min(int(np.searchsorted(cumulated, share)), len(values) - 1)])
