"""Which cells are timed and which are recorded: as many as the parameters need, and one more recording that checks the law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from breakeven.sweep.design import chosen
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
    grid: Grid, count: int | None = None, failed: frozenset[int] = frozenset(), have: tuple[int, ...] = (), *, more: bool = True
) -> Pick:
    """The cells to run.

    Args:
        grid: the grid.
        count: how many to time; None: `wanted`.
        failed: cells that cannot be run.
        have: cells that were timed already.
        more: whether further ones are timed to make up the count.
    """
    most = count or wanted(grid)
    if len(grid.cells) <= most + 1:
        most = len(grid.cells)
    measured = chosen(grid, most, failed, have) if more else have
    further = chosen(grid, len(measured) + 1, failed, measured)
    held = tuple(at for at in further if at not in measured) if len(measured) > 2 else ()
    return Pick(measured, (*measured, *held[:1]))
