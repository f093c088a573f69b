"""What a MATLAB expression may be worth to a reader that runs nothing: numbers, texts, sizes, layers, or that it is not known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from breakeven.errors import InputError
from breakeven.models.kinds import Kind
from breakeven.models.network import Place, Training


@dataclass(frozen=True)
class Unknown:
    """Something that cannot be known without MATLAB or the data; `reason` is a part of a sentence."""

    reason: str
    place: Place

    def error(self, wanted: str) -> InputError:
        """What to tell the user where it is needed after all."""
        return InputError(f"{self.place}: {wanted} cannot be read: {self.reason}")


@dataclass(frozen=True)
class Sized:
    """An array of which the size is known, not the elements; `classes`: how many different labels it holds."""

    shape: tuple[int, ...]
    classes: int | None = None


@dataclass(frozen=True)
class Cell:
    """A cell array, flat, in MATLAB's order for vectors; `shape` as `size` gives it."""

    items: tuple[Value, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Struct:
    """A structure."""

    fields: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """A layer as a call made it.

    Attributes:
        kind: what it computes; None: an output layer, which only says the loss.
        name: given by the user; empty: MATLAB will name it.
        family: how MATLAB names such a layer.
        loss: of an output layer.
        ports: names of its inputs where there are several.
    """

    kind: Kind | None
    name: str
    family: str
    place: Place
    loss: str = ""
    ports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Graph:
    """Layers in the order of their lines, and who is connected with whom; a plain array of layers is a chain."""

    layers: tuple[Made, ...]
    connections: tuple[tuple[str, str], ...] = ()
    chain: bool = True


@dataclass(frozen=True)
class Options:
    """What trainingOptions says, with what has no effect on a step."""

    training: Training
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Handle:
    """A function by its name, or an anonymous one: `call` is None where only the name is known."""

    name: str
    call: Callable[[list[Value]], Value] | None = None


Value = float | str | NDArray[np.float64] | Unknown | Sized | Cell | Struct | Graph | Options | Handle

#: Most elements of an array whose elements are kept.
KEPT = 4096
#: Largest whole number that a size, a count or an option may be.
LARGEST = 2**31


def size_of(value: Value) -> tuple[int, ...] | None:
    """What `size` gives; None: not known."""
    if isinstance(value, float):
        return (1, 1)
    if isinstance(value, str):
        return (1, len(value))
    if isinstance(value, np.ndarray):
        return value.shape
    if isinstance(value, Sized | Cell):
        return value.shape
    if isinstance(value, Graph):
        return (len(value.layers), 1)
    if isinstance(value, Unknown):
        return None
    return (1, 1)


def simple(array: NDArray[np.float64]) -> Value:
    """An array of one element as a number."""
    return float(array.reshape(-1)[0]) if array.size == 1 else array


def plain_shape(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """A size without ones at its end; two dimensions at least.

    >>> plain_shape((3, 1, 1)), plain_shape((4,))
    ((3, 1), (4, 1))
    """
    kept = list(sizes)
    while len(kept) > 2 and kept[-1] == 1:
        kept.pop()
    return tuple(kept) if len(kept) > 1 else (*kept, 1)
