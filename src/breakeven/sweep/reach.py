"""Which cells can be run in the time there is: the longest that a cell may take, judged by those that were timed.

A grid's largest cell may take a minute a step. It tells nothing about a crossing at a few milliseconds, and is priced instead.
What it does not know: a cell that takes longer than any sum of the parameters and their products would say.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.sweep.design import places
from breakeven.sweep.devices import Powers
from breakeven.sweep.grid import Grid
from breakeven.sweep.model import numbers

Floats = NDArray[np.float64]

#: Steps that have to fit into the time for which a cell is timed.
LEAST_STEPS: Final = 2
#: Relative error (root mean square) up to which a sum counts as one that agrees with the times: measured steps stray so far from
#: any sum of powers (threads, caches).
AGREES: Final = 0.3


def too_long(grid: Grid, timed_ms: Mapping[int, float], seconds: float) -> frozenset[int]:
    """Positions of cells that may take too long to run.

    Args:
        grid: the grid.
        timed_ms: steps of the cells that were timed, by position.
        seconds: time for which a cell is timed.
    """
    words = [i for i, axis in enumerate(grid.axes) if not axis.is_number]
    cells, parameters, at = grid.cells, numbers(grid, grid.cells), places(grid)
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, cell in enumerate(cells):
        groups.setdefault(tuple(cell[i] for i in words), []).append(position)
    out: set[int] = set()
    for mine in groups.values():
        known = [position for position in mine if position in timed_ms]
        if known:
            times = np.array([timed_ms[position] for position in known])
            most = longest(parameters[known], times, parameters[mine])
            most = np.maximum(most, _of_smaller(at[known], times, at[mine]))
            limit = seconds * 1000 / LEAST_STEPS
            out |= {position for position, ms in zip(mine, most, strict=True) if ms > limit and position not in timed_ms}
    return frozenset(out)


def longest(parameters: Floats, times: Floats, wanted: Floats) -> Floats:
    """The longest that any sum of powers which agrees with what was timed says of other cells, shape (m,).

    Args:
        parameters: of the timed cells, shape (n, d).
        times: shape (n,).
        wanted: parameters of the other cells, shape (m, d).
    """
    known, asked = Powers()(parameters), Powers()(wanted)
    scale = known.max(axis=0)
    scaled = known / scale / times[:, None]
    found: list[tuple[float, Floats]] = []
    for size in range(1, min(known.shape[1], len(times)) + 1):
        for subset in itertools.combinations(range(known.shape[1]), size):
            columns = list(subset)
            weights, *_ = np.linalg.lstsq(scaled[:, columns], np.ones(len(times)), rcond=None)
            if (weights >= 0).all():
                miss = float(np.sqrt(np.mean(np.square(scaled[:, columns] @ weights - 1))))
                found.append((miss, asked[:, columns] / scale[columns] @ weights))
    least = min((miss for miss, _ in found), default=0.0)
    agree = [said for miss, said in found if miss <= max(AGREES, least)]
    return np.max(agree, axis=0) if agree else np.zeros(len(wanted))


def _of_smaller(known: Floats, times: Floats, wanted: Floats) -> Floats:
    """A cell takes no less than one that is smaller in every parameter."""
    below = (known[None, :, :] <= wanted[:, None, :] + 1e-9).all(axis=2)
    least: Floats = np.where(below, times[None], 0.0).max(axis=1)
    return least
