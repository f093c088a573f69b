"""Weights that are never negative: robust relative least squares, drawn towards those of the wider group."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

#: Rounds of reweighting, and the relative error below which a row counts fully.
_ROUNDS = 8
_FULL = 0.03


def weights(
    terms: np.ndarray,
    time_us: np.ndarray,
    importance: np.ndarray,
    caps: np.ndarray,
    prior: np.ndarray | None = None,
    strength: float = 0.0,
    typical: np.ndarray | None = None,
    agreement: float = 0.0,
) -> np.ndarray:
    """Weights w ≥ 0 that make terms @ w close to the times in relative error (nearly its mean absolute value).

    Args:
        importance: of each row.
        caps: the most that each weight may be.
        prior, strength: weights to stay near, as if that many rows said so.
        typical, agreement: terms of other rows, on which the time is to stay near that of the prior's weights, as if that many
            rows said so: what the rows themselves do not tell, they leave as it was.
    """
    relative = terms / time_us[:, None]
    scale = np.sqrt((relative**2).mean(0)) + 1e-12
    row = np.sqrt(importance / importance.mean())
    robust = np.ones(len(time_us))
    fitted = np.zeros(terms.shape[1])
    for _ in range(_ROUNDS):
        weight = row * robust
        matrix, target = relative / scale * weight[:, None], weight
        if prior is not None and strength > 0.0:
            # the prior's own prediction is what is kept: the terms of a few typical rows
            pull = np.sqrt(strength * np.median(weight) ** 2)
            matrix = np.vstack([matrix, pull * np.eye(terms.shape[1])])
            target = np.concatenate([target, pull * prior * scale])
        if prior is not None and typical is not None and len(typical) and agreement > 0.0:
            known = typical / np.maximum(typical @ prior, 1e-6)[:, None]
            pull = np.sqrt(agreement / len(typical)) * np.median(weight)
            matrix = np.vstack([matrix, pull * known / scale])
            target = np.concatenate([target, np.full(len(typical), pull)])
        fitted = _capped(matrix, target, caps * scale) / scale
        error = np.abs(np.log(np.maximum(relative @ fitted, 1e-3)))
        robust = 1.0 / np.sqrt(np.maximum(error, _FULL) / _FULL)
    return fitted


def _capped(matrix: np.ndarray, target: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """Least squares within 0 and the caps: what comes out above its cap is put there, and the rest fitted again."""
    fitted = nnls(matrix, target, maxiter=50 * matrix.shape[1])[0]
    over = np.zeros(len(caps), dtype=bool)
    while (fitted > caps * (1.0 + 1e-9)).any():
        over |= fitted > caps
        rest = target - matrix[:, over] @ caps[over]
        fitted = np.zeros(len(caps))
        fitted[over] = caps[over]
        fitted[~over] = nnls(matrix[:, ~over], rest, maxiter=50 * matrix.shape[1])[0]
    return fitted
