"""Smooth curves through few points that add no bumps: piecewise cubic with the slopes of Fritsch and Butland (1984)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def through(x: Floats, y: Floats, wanted: Floats) -> Floats:
    """Values of the curve through points, monotone wherever they are.

    Args:
        x: rising, shape (n,), at least two.
        y: many curves at once, shape (n, m).
        wanted: within x, shape (k,).

    Returns:
        Shape (k, m).

    >>> through(np.array([0.0, 1.0, 2.0]), np.array([[0.0], [1.0], [2.0]]), np.array([0.5])).tolist()
    [[0.5]]
    """
    width = np.diff(x)[:, None]
    rise = np.diff(y, axis=0) / width
    slope = _slopes(width, rise)
    at = np.clip(np.searchsorted(x, wanted, side="right") - 1, 0, len(x) - 2)
    h = width[at]
    t = (wanted - x[at])[:, None] / h
    a, b, c, d = y[at], slope[at], slope[at + 1], y[at + 1]
    curve: Floats = a * (1 + 2 * t) * (1 - t) ** 2 + h * b * t * (1 - t) ** 2 + d * t**2 * (3 - 2 * t) + h * c * t**2 * (t - 1)
    return curve


def _slopes(width: Floats, rise: Floats) -> Floats:
    """At each point: the weighted harmonic mean of the rises around it, none where they differ in sign; one-sided at the ends."""
    count = len(rise)
    slope = np.empty((count + 1, rise.shape[1]))
    if count == 1:
        slope[:] = rise
        return slope
    before, after = rise[:-1], rise[1:]
    w1, w2 = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = (w1 + w2) / (w1 / before + w2 / after)
    slope[1:-1] = np.where(before * after > 0, mean, 0.0)
    slope[0] = _end(width[0], width[1], rise[0], rise[1])
    slope[-1] = _end(width[-1], width[-2], rise[-1], rise[-2])
    return slope


def _end(near: Floats, far: Floats, first: Floats, second: Floats) -> Floats:
    """The slope of the parabola through the three outermost points, held so that the curve stays monotone (Moler 2004, 3.6)."""
    slope = ((2 * near + far) * first - near * second) / (near + far)
    slope = np.where(np.sign(slope) != np.sign(first), 0.0, slope)
    steep = (np.sign(first) != np.sign(second)) & (np.abs(slope) > 3 * np.abs(first))
    held: Floats = np.where(steep, 3 * first, slope)
    return held
