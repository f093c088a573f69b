"""What each kind of layer learns: its arrays by name with their shapes, as the frameworks' documentation counts them."""

from __future__ import annotations

import math
from collections.abc import Callable

from breakeven.models.kinds import (
    Activation,
    Attention,
    Computed,
    Convolution,
    Dense,
    Embedding,
    Kind,
    Normalization,
    Positions,
    Recurrent,
)  # fmt: skip
from breakeven.models.network import Layer, Network, Shape

#: Gates of a recurrent cell: each has weights of its own.
GATES = {"rnn": 1, "lstm": 4, "gru": 3}

Arrays = dict[str, tuple[int, ...]]


def learnables(kind: Kind, fed: tuple[Shape, ...]) -> Arrays:
    """A layer's learned arrays.

    Args:
        kind: the layer.
        fed: the shapes that it reads.

    >>> learnables(Recurrent("lstm", 24), (Shape(2, (), 28),))
    {'input_weights': (96, 2), 'recurrent_weights': (96, 24), 'bias': (96,)}
    """
    if isinstance(kind, Computed):
        return {} if kind.shares is not None else dict(kind.arrays)
    counted = _ARRAYS.get(type(kind))
    return {} if counted is None else counted(kind, fed[0])


def count(network: Network, layer: Layer | None = None) -> int:
    """How many numbers a network (or one layer of it) learns."""
    layers = network.layers if layer is None else (layer,)
    return sum(math.prod(a) for one in layers for a in learnables(one.kind, network.fed(one)).values())


def _convolution(kind: Convolution, fed: Shape) -> Arrays:
    groups = fed.channels if kind.groups is None else kind.groups
    filters = kind.filters * fed.channels if kind.groups is None else kind.filters
    return _with_bias(kind.bias, filters, (*kind.window, fed.channels // groups, filters))


def _dense(kind: Dense, fed: Shape) -> Arrays:
    return _with_bias(kind.bias, kind.units, (kind.units, fed.channels * math.prod(fed.spatial)))


def _with_bias(bias: bool, outputs: int, weights: tuple[int, ...]) -> Arrays:
    return {"weights": weights, "bias": (outputs,)} if bias else {"weights": weights}


def _embedding(kind: Embedding, fed: Shape) -> Arrays:
    return {"weights": (kind.rows + kind.spare, kind.width)}


def _recurrent(kind: Recurrent, fed: Shape) -> Arrays:
    rows = GATES[kind.cell] * kind.hidden * (2 if kind.bidirectional else 1)
    arrays: Arrays = {"input_weights": (rows, fed.channels), "recurrent_weights": (rows, kind.hidden)}
    if kind.biases:
        arrays["bias"] = (rows * kind.biases,)
    return arrays


def _attention(kind: Attention, fed: Shape) -> Arrays:
    if not kind.projected:
        return {}
    values, output = kind.values or kind.keys, kind.output or fed.channels
    arrays: Arrays = {}
    for name, rows, columns in (
        ("query", kind.keys, fed.channels), ("key", kind.keys, fed.channels), ("value", values, fed.channels),
        ("output", output, values),
    ):  # fmt: skip
        arrays[f"{name}_weights"] = (rows, columns)
        if kind.bias:
            arrays[f"{name}_bias"] = (rows,)
    return arrays


def _normalization(kind: Normalization, fed: Shape) -> Arrays:
    return {"scale": (fed.channels,), "offset": (fed.channels,)} if kind.affine else {}


def _activation(kind: Activation, fed: Shape) -> Arrays:
    return {"alpha": (fed.channels,)} if kind.function == "prelu" else {}


def _positions(kind: Positions, fed: Shape) -> Arrays:
    return {} if kind.length is None else {"weights": (kind.length, kind.width)}


_ARRAYS: dict[type, Callable[..., Arrays]] = {
    Convolution: _convolution, Dense: _dense, Embedding: _embedding, Recurrent: _recurrent, Attention: _attention,
    Normalization: _normalization, Activation: _activation, Positions: _positions,
}  # fmt: skip
