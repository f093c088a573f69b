"""Rows with more launches in one cell than in another: cuDNN runs small hidden states in one kernel, large ones step by step.

How long their kernels take follows from their sizes as everywhere; how long the host issues them follows from how many they are,
and that jumps. So the call itself is made at the sizes that are asked for, and its launches are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.host_model import host_cost, host_model
from breakeven.costs.works import Operation, works
from breakeven.sweep.laws import Law, law

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Varied:
    """One such row in all cells.

    Attributes:
        row: of the step.
        like: its call in the first cell.
        backward: whether the autograd engine issues it.
        names: the call's attributes that are numbers.
        values: of each cell, shape (cells, names); means where the recorded steps differ.
    """

    row: int
    like: Operation
    backward: bool
    names: tuple[str, ...]
    values: Floats


def varied(row: int, backward: bool, cells: Sequence[Sequence[Operation]]) -> Varied:
    """A row from its calls in each recorded step of each cell."""
    like = cells[0][0]
    names = tuple(n for n, v in like.attributes.items() if isinstance(v, int) and not isinstance(v, bool))
    values = [np.mean([[float(one.attributes.get(n) or 0) for n in names] for one in cell], axis=0) for cell in cells]
    return Varied(row, like, backward, names, np.array(values).reshape(len(cells), len(names)))


@dataclass(frozen=True)
class Launches:
    """How long the host issues such a row, by the laws of its call's attributes."""

    of: Varied
    laws: tuple[Law, ...]

    def relative(self, parameters: Floats) -> Floats:
        """Host time over that in the first cell, at other parameters, shape (m,)."""
        asked = np.stack([one.values(parameters) for one in self.laws], axis=1)
        distinct, where = np.unique(asked, axis=0, return_inverse=True)
        first = self._ns(self.of.values[0])
        return np.array([self._ns(row) / first for row in distinct])[where.ravel()]

    def _ns(self, values: Floats) -> float:
        whole = {name: max(1, round(value)) for name, value in zip(self.of.names, values.tolist(), strict=True) if value}
        call = replace(self.of.like, attributes={**self.of.like.attributes, **whole})
        launches = sum(work.kernels * work.count for work in works(call)[0])
        cost = host_cost(call.name, launches, len(call.inputs), "cuda", host_model())
        return cost.backward_ns if self.of.backward else cost.forward_ns


def launches(rows: Sequence[Varied], parameters: Floats) -> tuple[Launches, ...]:
    """The laws of such rows.

    Args:
        rows: the rows.
        parameters: of the recorded cells, shape (n, d).
    """
    return tuple(Launches(one, tuple(law(column, parameters) for column in one.values.T)) for one in rows)
