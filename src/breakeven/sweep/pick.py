"""Which cells are timed and which are recorded: as many as the parameters need, and one more recording that checks the law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from breakeven.sweep.design import chosen, places
from breakeven.sweep.grid import Grid

#: Cells that are run for one or two numeric parameters: the ends, and what lies between them.
LEAST: Final = 5


@dataclass(frozen=True)
class Pick:
    """Positions of cells.

    Attributes:
        measured: timed on the CPU, one at a time.
        recorded: recorded on the virtual GPU; those that are not timed are held out of the laws.
    """

    measured: tuple[int, ...]
    recorded: tuple[int, ...]


def wanted(grid: Grid) -> int:
    """Cells to run: the corners and the middle; for each choice of words."""
    numeric = sum(axis.is_number for axis in grid.axes)
    words = 1
    for axis in grid.axes:
        words *= 1 if axis.is_number else len(axis.values)
    return words * (max(LEAST, 2**numeric + 1) if numeric else 1)


def pick(
    grid: Grid, count: int | None = None, failed: frozenset[int] = frozenset(), have: tuple[int, ...] = (),
    *, more: bool = True, long: frozenset[int] = frozenset(),
) -> Pick:  # fmt: skip
    """The cells to run.

    Args:
        grid: the grid.
        count: how many to time; None: `wanted`.
        failed: cells that cannot be run.
        have: cells that were timed already.
        more: whether further ones are timed to make up the count.
        long: cells that would take too long, where not all are to be run.
    """
    most = count or wanted(grid)
    if len(grid.cells) <= most + 1:
        most, long = len(grid.cells), frozenset()
    measured = chosen(grid, most, failed | long, have) if more else have
    further = chosen(grid, len(measured) + 1, failed | long, measured)
    held = tuple(at for at in further if at not in measured) if len(measured) > 2 else ()
    return Pick(measured, (*measured, *held[:1]))


def first(grid: Grid) -> tuple[int, ...]:
    """Cells to begin with where not all can be run for certain: of each choice of words the smallest, and the middle."""
    at = places(grid)
    words = [i for i, axis in enumerate(grid.axes) if not axis.is_number]
    numbers = [i for i, axis in enumerate(grid.axes) if axis.is_number]
    groups = np.unique(at[:, words], axis=0, return_inverse=True)[1].ravel() if words else np.zeros(len(at), dtype=np.int64)
    out: list[int] = []
    for group in range(int(groups.max()) + 1):
        mine = np.flatnonzero(groups == group)
        for place in (0.0, 0.5) if numbers else (0.0,):
            apart = np.abs(at[mine][:, numbers] - place).sum(axis=1)
            out.append(int(mine[int(np.argmin(np.round(apart, 9)))]))
    return tuple(dict.fromkeys(out))
