"""Which cells of a grid are run: its corners, then always the cell that is farthest from those already chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from breakeven.sweep.grid import Grid
from breakeven.sweep.names.found import Value


def places(grid: Grid, cells: Sequence[Sequence[Value]] | None = None) -> NDArray[np.float64]:
    """Where cells lie, shape (cells, axes): each axis from 0 to 1, numbers by their logarithm, words by their order.

    Args:
        grid: the grid.
        cells: which cells; None: all. Values outside the grid lie outside 0 to 1.
    """
    chosen = grid.cells if cells is None else cells
    columns = []
    for at, axis in enumerate(grid.axes):
        values = [cell[at] for cell in chosen]
        columns.append(_scaled(axis.values, values, axis.is_number))
    return np.stack(columns, axis=1) if columns and len(chosen) else np.zeros((len(chosen), len(grid.axes)))


def _scaled(known: Sequence[Value], values: Sequence[Value], is_number: bool) -> NDArray[np.float64]:
    if not is_number:
        order = {v: i for i, v in enumerate(known)}
        return np.array([order[v] for v in values], dtype=float) / max(1, len(known) - 1)
    numbers, ends = np.array(values, dtype=float), np.array([known[0], known[-1]], dtype=float)
    if ends[0] > 0 and (numbers > 0).all():
        numbers, ends = np.log(numbers), np.log(ends)
    scaled: NDArray[np.float64] = (numbers - ends[0]) / (ends[1] - ends[0] or 1.0)
    return scaled


def chosen(grid: Grid, count: int, without: frozenset[int] = frozenset(), have: Sequence[int] = ()) -> tuple[int, ...]:
    """Positions of the cells to run, the most telling first.

    Args:
        grid: the grid.
        count: how many, those in `have` included.
        without: cells that cannot be run.
        have: cells that are chosen already.

    Returns:
        `have`, then: for each choice of words (no law leads from one word to another) the two ends, then the farthest.
    """
    at = places(grid)
    words = [i for i, axis in enumerate(grid.axes) if not axis.is_number]
    groups = np.unique(at[:, words], axis=0, return_inverse=True)[1].ravel() if words else np.zeros(len(at), dtype=np.int64)
    out: list[int] = list(have)
    each = max(1, count // (int(groups.max()) + 1)) if len(at) else 0
    for group in range(int(groups.max()) + 1 if len(at) else 0):
        mine = [int(i) for i in np.flatnonzero(groups == group) if int(i) not in without]
        out += _spread(at, mine, each - sum(1 for i in have if groups[i] == group), [i for i in out if groups[i] == group])
    return tuple(out)


def _spread(at: NDArray[np.float64], mine: Sequence[int], count: int, have: Sequence[int]) -> list[int]:
    """Positions spread as widely as can be; ties go to the earlier cell."""
    numbers = at[list(mine)] if mine else at[:0]
    taken: list[int] = list(have)
    new: list[int] = []
    while len(new) < min(count, len(mine) - len(have)):
        if not taken:
            pick = int(np.argmin(numbers.sum(axis=1)))
        else:
            apart = np.min(np.linalg.norm(numbers[:, None] - at[taken][None], axis=2), axis=1)
            apart[[i for i, cell in enumerate(mine) if cell in taken]] = -1.0
            pick = int(np.argmax(np.round(apart, 9)))
        taken.append(mine[pick])
        new.append(mine[pick])
    return new
