"""Which cells are timed and which are recorded: as many as the parameters need, and one more recording that checks the law."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.sweep.design import chosen, places
from breakeven.sweep.grid import Grid

#: Cells that are run for one numeric parameter: the ends, and what lies between them; for more: the corners, the middle, and what
#: lies between those. A CPU's times follow no law exactly (caches, page faults), so that more of them say more.
LEAST: Final = 5
LEAST_OF_SEVERAL: Final = 9
#: Cells that are recorded of each choice of words: sizes follow laws exactly, and so many show them.
RECORDED: Final = 5


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
    least = LEAST if numeric == 1 else LEAST_OF_SEVERAL
    return words * (max(least, 2**numeric + 1) if numeric else 1)


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
    recorded = measured if count or len(measured) == len(grid.cells) else _few(grid, measured)
    return Pick(measured, (*recorded, *held[:1]))


def _few(grid: Grid, measured: tuple[int, ...]) -> tuple[int, ...]:
    """Of each choice of words the first that were chosen, which lie farthest apart."""
    groups, _ = _groups(grid)
    counted: Counter[int] = Counter()
    out = []
    for at in measured:
        counted[int(groups[at])] += 1
        if counted[int(groups[at])] <= RECORDED:
            out.append(at)
    return tuple(out)


def first(grid: Grid) -> tuple[int, ...]:
    """Cells to begin with where not all can be run for certain: of each choice of words the smallest, and the middle."""
    groups, at = _groups(grid)
    numbers = [i for i, axis in enumerate(grid.axes) if axis.is_number]
    out: list[int] = []
    for group in range(int(groups.max()) + 1):
        mine = np.flatnonzero(groups == group)
        for place in (0.0, 0.5) if numbers else (0.0,):
            apart = np.abs(at[mine][:, numbers] - place).sum(axis=1)
            out.append(int(mine[int(np.argmin(np.round(apart, 9)))]))
    return tuple(dict.fromkeys(out))


def _groups(grid: Grid) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Which choice of words each cell belongs to, and where cells lie."""
    at = places(grid)
    words = [i for i, axis in enumerate(grid.axes) if not axis.is_number]
    if not words:
        return np.zeros(len(at), dtype=np.int64), at
    return np.unique(at[:, words], axis=0, return_inverse=True)[1].ravel().astype(np.int64), at
