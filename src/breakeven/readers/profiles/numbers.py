"""Numbers as files hold them (whole, with a point, as text, or missing) to whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.timeline.intervals import Ints

_MOST: Final = 1 << 62
#: Microseconds from the median start beyond which a start belongs to no trace: a year.
FARTHEST_US: Final = 3.2e13


def whole(values: Sequence[Any]) -> Ints:
    """Whole numbers; -1 where there is none, or none that fits (Any: whatever the file holds)."""
    try:
        return np.array(values, dtype=np.int64)  # the usual case: every one is there
    except (TypeError, ValueError, OverflowError):
        return np.array([v if type(v) is int and -_MOST < v < _MOST else _one(v) for v in values], dtype=np.int64)


def known(values: Ints) -> pl.Series:
    """Numbers as a column, those below 0 missing."""
    series = pl.Series(values)
    return series.set(series < 0, None) if len(series) else pl.Series(values=[], dtype=pl.Int64)


def number(value: Any, default: int | None = None) -> Any:  # of the file: anything
    """A small whole number out of a number or a text; `stream 7` is 7."""
    if isinstance(value, bool) or value is None:
        return default
    if isinstance(value, int | float):
        return int(value) if abs(value) < 1 << 31 else default
    digits = str(value).rpartition(" ")[2]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 10 else default


def _one(value: Any) -> int:  # of the file: anything
    try:
        found = -1 if value is None else int(float(value))
    except (TypeError, ValueError, OverflowError):
        return -1
    return found if abs(found) < _MOST else -1


def near_others(ts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Starts that are numbers, and near the others."""
    finite = np.isfinite(ts)
    known = ts if finite.all() else ts[finite]
    middle = float(np.partition(known, len(known) // 2)[len(known) // 2]) if len(known) else 0.0
    near: NDArray[np.bool_] = finite & (np.abs(np.where(finite, ts, middle) - middle) < FARTHEST_US)
    return near
