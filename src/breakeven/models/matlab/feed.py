"""What a training call feeds an input layer with: time steps and observations, from the sizes of the arrays that it is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from breakeven.errors import InputError
from breakeven.models.kinds import Input
from breakeven.models.matlab.values import Cell, Sized, Unknown, Value, size_of
from breakeven.models.network import Layer, Place

#: Names under which predictors may be given where the script calls them otherwise.
_PREDICTORS = ("X", "XTrain")


@dataclass(frozen=True)
class Feed:
    """Data of one input layer; `steps` None: no sequences, `observations` None: not known."""

    steps: int | None
    observations: int | None
    notes: tuple[str, ...] = ()


def feed_of(layer: Layer, at: int, data: Sequence[tuple[str, Value]], given: Mapping[str, Value], place: Place) -> Feed:
    """The data that goes into an input layer.

    Args:
        layer: the input layer.
        at: its number among the input layers.
        data: names and values of the arguments before the network; without any the data is taken from `given` alone.
        given: what the user says of variables.
        place: of the training call.

    Raises:
        InputError: sequences of a length that is not known, or sizes that do not fit the layer.
    """
    kind = layer.kind
    assert isinstance(kind, Input)
    name, value = data[at] if at < len(data) else ("", Unknown("no data is named", place))
    for key in (name, *(_PREDICTORS if at == 0 else ())):
        if key in given:
            name, value = key, given[key]
            break
    size = (*kind.spatial, kind.channels)
    if isinstance(value, Unknown):
        if kind.sequence:
            shape = "x".join(map(str, size))
            said = f" ({value.place}: {value.reason})"
            raise InputError(
                f"{layer.place}: the length of the sequences is not known{said}; say it with --data {name or 'X'}={shape}xTIMExN"
            )
        return Feed(None, None)
    return _cells(layer, name, value, size) if isinstance(value, Cell) else _array(layer, name, value, kind, size)


def _cells(layer: Layer, name: str, cell: Cell, size: tuple[int, ...]) -> Feed:
    """One sequence in each cell; of different lengths the longest counts, as each mini-batch is padded to its longest."""
    lengths = []
    for item in cell.items:
        shape = size_of(item)
        steps = None if shape is None else _steps(shape, size)
        if steps is None:
            raise InputError(
                f"{layer.place}: a sequence of {name or 'the data'} does not fit {'x'.join(map(str, size))}, "
                "or its size is not known"
            )
        lengths.append(steps)
    if not lengths:
        raise InputError(f"{layer.place}: {name or 'the data'} is empty")
    longest = max(lengths)
    varied = f"{layer.place}: sequences of {min(lengths)} to {longest} time steps; each is taken as long as the longest."
    return Feed(longest, len(lengths), () if min(lengths) == longest else (varied,))


def _steps(shape: tuple[int, ...], size: tuple[int, ...]) -> int | None:
    """Time steps of one sequence: after the layer's size, or before it as trainnet has them; None: it does not fit."""
    full = (*shape, *(1,) * (len(size) + 1 - len(shape)))
    if full[: len(size)] == size and math.prod(full[len(size) + 1 :]) == 1:
        return full[len(size)]
    if len(shape) == len(size) + 1 and shape[1:] == size:
        return shape[0]
    return None


def _without_ones(shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[int, ...] | None:
    """Time steps and observations where sizes of 1 were left out of the layer's or the data's: `1440x1xN` for [1440 1 1]."""
    plain, wanted = [n for n in shape if n != 1], [n for n in size if n != 1]
    if plain[: len(wanted)] != wanted or len(plain) != len(wanted) + 1:
        return None
    last = plain[-1]
    return (last, 1, 1) if last else (1, 0, 1)  # a letter counts observations, of one time step each


def _array(layer: Layer, name: str, value: Value, kind: Input, size: tuple[int, ...]) -> Feed:
    shape = (1, 1) if isinstance(value, float) else size_of(value)
    if shape is None or not isinstance(value, Sized | np.ndarray | float):
        raise InputError(f"{layer.place}: {name or 'the data'} is no array")
    rest = (*shape[len(size) :], 1, 1) if shape[: len(size)] == size else None
    if rest is None and not kind.sequence and not kind.spatial and len(shape) == 2 and shape[1] == size[0]:
        return Feed(None, shape[0] or None)  # features: one row for each observation
    if rest is None and kind.sequence and not kind.spatial and len(shape) in (2, 3) and shape[1] == size[0]:
        return Feed(shape[0], (shape[2] or None) if len(shape) == 3 else 1)  # time steps first, as trainnet has them
    if rest is None and kind.sequence:
        rest = _without_ones(shape, size)
    if rest is None or math.prod(n for n in rest[2 if kind.sequence else 1 :] if n) != 1:
        wanted = f"{'x'.join(map(str, size))}{'xTIME' if kind.sequence else ''}xN"
        raise InputError(
            f"{layer.place}: {name or 'the data'} of {'x'.join(str(n or 'N') for n in shape)} does not fit the layer: "
            f"{wanted} does"
        )
    if not kind.sequence:
        return Feed(None, rest[0] or None)
    if not rest[0]:
        raise InputError(
            f"{layer.place}: the length of the sequences cannot be a letter: {name}={'x'.join(map(str, size))}xTIMExN"
        )
    return Feed(rest[0], rest[1] or None)
