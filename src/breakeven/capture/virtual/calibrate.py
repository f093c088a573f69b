"""What the recorder itself adds to the gap before each operation: measured here, now, so that it can be taken off."""

from __future__ import annotations

from statistics import median
from time import perf_counter_ns
from typing import TYPE_CHECKING

import torch
from torch.utils._python_dispatch import _disable_current_modes

if TYPE_CHECKING:
    from breakeven.capture.virtual.recorder import Recorder

_REPEATS = 150


def overhead_ns(recorder: Recorder) -> int:
    """Nanoseconds per operation, by the same small addition with and without the mode."""
    one = torch.ones(1)
    with _disable_current_modes():
        plain = _gaps(one)
    recorder.begin()
    _gaps(one)
    rows = recorder.rows
    assert rows is not None
    gaps, inside = list(rows.host), list(rows.cpu)
    recorder.rows = None
    if len(gaps) < _REPEATS // 2:
        return 0
    return max(0, int(median(gaps) + median(inside) - plain))


def _gaps(one: torch.Tensor) -> float:
    lengths = []
    for _ in range(_REPEATS):
        began = perf_counter_ns()
        torch.add(one, one)
        lengths.append(perf_counter_ns() - began)
    return median(lengths)
