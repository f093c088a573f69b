"""Lines: every parameter's curve with the others held, and the crossings on it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.results.swept import Crossing, Value
from breakeven.sweep.crossing import Line, crossing
from breakeven.sweep.design import places
from breakeven.sweep.grid import Axis
from breakeven.sweep.model import CPU, Model, numbers

Floats = NDArray[np.float64]

#: Most points along one line: the grid's own and points between them.
_POINTS: Final = 25
#: More lines than this along one parameter are thinned: a map needs no more.
MOST_LINES: Final = 64


def crossings(model: Model, today: Sequence[Value | None], words: Sequence[Value | None]) -> tuple[Crossing, ...]:
    """Every crossing of the CPU with each GPU, along each numeric parameter.

    Args:
        model: the devices.
        today: each parameter's value in the script.
        words: of each parameter that is no number, the value that this model is of; None for the others.
    """
    if CPU not in model.devices:
        return ()
    found: list[Crossing] = []
    for at, axis in enumerate(model.grid.axes):
        if axis.is_number:
            found += _along(model, at, today, words)
    return tuple(found)


def _along(model: Model, at: int, today: Sequence[Value | None], words: Sequence[Value | None]) -> Iterator[Crossing]:
    axes = model.grid.axes
    fine = _between(axes[at])
    others = list(itertools.product(*_held(axes, at, words)))
    if len(others) > MOST_LINES:
        others = [others[i] for i in np.unique(np.linspace(0, len(others) - 1, MOST_LINES).astype(int))]
    cells = [(*held[:at], value, *held[at:]) for held in others for value in fine]
    parameters, place = numbers(model.grid, cells), places(model.grid, cells)
    steps = {name: device.steps(parameters, place) for name, device in model.devices.items()}
    names = [a.name for i, a in enumerate(axes) if i != at]
    for n, held in enumerate(others):
        part = slice(n * len(fine), (n + 1) * len(fine))
        for name in [d for d in steps if d != CPU]:
            yield crossing(Line(
                axes[at].name, np.array(fine, dtype=float), steps[CPU].mid[part], steps[name].mid[part],
                steps[CPU].draws[part], steps[name].draws[part], name, dict(zip(names, held, strict=True)), today[at],
            ))  # fmt: skip


def _held(axes: Sequence[Axis], at: int, words: Sequence[Value | None]) -> list[tuple[Value, ...]]:
    """Values that the other parameters are held at."""
    out: list[tuple[Value, ...]] = []
    for i, axis in enumerate(axes):
        word = words[i]
        if i != at:
            out.append(axis.values if word is None else (word,))
    return out


def _between(axis: Axis) -> tuple[float, ...]:
    """The axis's values and some between them, whole where those are."""
    known = [float(v) for v in axis.values if isinstance(v, (int, float))]
    if len(known) < 2 or known[0] <= 0:
        return tuple(known)
    each = max(1, (_POINTS - 1) // (len(known) - 1))
    whole = all(isinstance(v, int) for v in axis.values)
    fine = [x for a, b in itertools.pairwise(known) for x in np.geomspace(a, b, each + 1)]
    return tuple(sorted({float(round(x)) if whole else float(f"{x:.6g}") for x in fine} | set(known)))
