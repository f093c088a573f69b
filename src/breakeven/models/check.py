"""Puts a network's layers in order and works out every shape between them; what does not fit is named with its line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from breakeven.errors import InputError
from breakeven.models.kinds import Convolution, Embedding, GlobalPooling, Input, Pooling
from breakeven.models.network import Layer, Network, Shape
from breakeven.models.shapes import shape_of


def checked(layers: Sequence[Layer], steps: Mapping[str, int | None] | int | None = None) -> Network:
    """A network of layers in any order.

    Args:
        layers: the layers.
        steps: time steps of the sequences, for all input layers or by their names.

    Raises:
        InputError: a name is there twice or not at all, the layers go in a circle, there is no input or more than one output, a
            layer cannot take what goes in.
    """
    named = {layer.name: layer for layer in layers}
    for layer in layers:
        if named[layer.name] is not layer:
            raise InputError(f"{_where(layer)}: a second layer is called {layer.name!r}")
        for name in layer.inputs:
            if name not in named:
                raise InputError(f"{_where(layer)}: reads {name!r}, and no layer is called so")
    ordered = _worded(_ordered(layers, named))
    if not any(isinstance(layer.kind, Input) for layer in ordered):
        raise InputError(f"{_where(ordered[0])}: no input layer: nothing says what goes into the network" if ordered
                         else "the network has no layers")  # fmt: skip
    shapes: dict[str, Shape] = {}
    settled: list[Layer] = []
    for given in ordered:
        layer = _settled(given, shapes)
        settled.append(layer)
        length = steps.get(layer.name) if isinstance(steps, Mapping) else steps
        if isinstance(layer.kind, Input) and layer.kind.sequence and length is None:
            raise InputError(f"{_where(layer)}: the length of the sequences is not known")
        try:
            shapes[layer.name] = shape_of(layer.kind, tuple(shapes[name] for name in layer.inputs), length)
        except InputError as error:
            raise InputError(f"{_where(layer)}: {error}") from None
    return Network(tuple(settled), shapes)


def identifier(name: str, taken: Sequence[str] | set[str] = ()) -> str:
    """A name as a Python identifier that is not taken.

    >>> identifier("conv-1"), identifier("1st"), identifier("lstm", {"lstm"})
    ('conv_1', 'layer_1st', 'lstm_2')
    """
    plain = re.sub(r"[^0-9a-zA-Z]+", "_", name).strip("_").lower() or "layer"
    plain = plain if not plain[0].isdigit() else f"layer_{plain}"
    number, free = 2, plain
    while free in taken:
        free, number = f"{plain}_{number}", number + 1
    return free


def _worded(layers: list[Layer]) -> list[Layer]:
    """Inputs that an embedding reads are of whole numbers, as many as the table has rows."""
    rows = {name: layer.kind.rows for layer in layers if isinstance(layer.kind, Embedding) for name in layer.inputs}
    return [
        replace(layer, kind=replace(layer.kind, words=rows[layer.name]))
        if isinstance(layer.kind, Input) and layer.name in rows and layer.kind.channels == 1
        else layer
        for layer in layers
    ]


def _settled(layer: Layer, shapes: Mapping[str, Shape]) -> Layer:
    """A window over either slides over space where what goes in has some, else over time."""
    kind = layer.kind
    if not isinstance(kind, Convolution | Pooling | GlobalPooling) or kind.over != "either" or not layer.inputs:
        return layer
    return replace(layer, kind=replace(kind, over="space" if shapes[layer.inputs[0]].spatial else "time"))


def _where(layer: Layer) -> str:
    return f"layer {layer.name!r}" if layer.place is None else f"{layer.place}: layer {layer.name!r}"


def _ordered(layers: Sequence[Layer], named: Mapping[str, Layer]) -> list[Layer]:
    """Each layer after those that it reads, otherwise as they were; the one that nothing reads last."""
    read = {name for layer in layers for name in layer.inputs}
    ends = [layer for layer in layers if layer.name not in read]
    if len(ends) > 1:
        raise InputError(f"{_where(ends[1])}: nothing reads it, nor {ends[0].name!r}: a network with one output is understood")
    done: dict[str, Layer] = {}
    waiting = list(layers)
    while waiting:
        before = len(done)
        for layer in waiting:
            if all(name in done for name in layer.inputs):
                done[layer.name] = layer
        if len(done) == before:
            raise InputError(f"{_where(waiting[0])}: it reads, by way of others, what itself gives")
        waiting = [layer for layer in waiting if layer.name not in done]
    last = ends[0].name if ends else ""
    return [layer for layer in done.values() if layer.name != last] + [done[last]] if last else []
