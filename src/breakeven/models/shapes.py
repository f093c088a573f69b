"""What comes out of each kind of layer, by the formulae that the frameworks' documentation gives.

Source of the sizes of windows: `floor((size + padding - dilated window) / stride) + 1`, with `same` padding `ceil(size / stride)`
(MATLAB's pages of convolution2dLayer and maxPooling2dLayer; PyTorch's of Conv2d). It does not know the batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from breakeven.errors import InputError
from breakeven.models.kinds import (
    Activation,
    Attention,
    Computed,
    Convolution,
    Dense,
    Dropout,
    Embedding,
    Flatten,
    GlobalPooling,
    Identity,
    Input,
    Kind,
    LocalNormalization,
    Merge,
    Normalization,
    Pooling,
    Positions,
    Recurrent,
)  # fmt: skip
from breakeven.models.network import Shape

#: Most elements of one sample between two layers: beyond them a script would not run on any machine either.
MOST = 2**34


def shape_of(kind: Kind, fed: tuple[Shape, ...], steps: int | None = None) -> Shape:
    """The shape that a layer gives.

    Args:
        kind: the layer.
        fed: the shapes that it reads.
        steps: time steps of the data, for an input layer that takes sequences.

    Raises:
        InputError: it cannot take these shapes; the message says why, without a place.
    """
    _check_count(kind, fed)
    if isinstance(kind, Input):
        given = Shape(kind.channels, kind.spatial, steps if kind.sequence else None)
    elif type(kind) in _OF_MANY:
        given = _OF_MANY[type(kind)](kind, fed)
    else:
        given = _OF_ONE[type(kind)](kind, fed[0])
    sizes = (given.channels, *given.spatial, *(() if given.time is None else (given.time,)))
    if min(sizes) < 1:
        raise InputError(f"would give {given}: nothing is left of the {fed[0] if fed else 'input'} that goes in")
    if math.prod(sizes) > MOST:
        raise InputError(f"would give {math.prod(sizes):.0e} elements a sample")
    return given


def _check_count(kind: Kind, fed: tuple[Shape, ...]) -> None:
    if isinstance(kind, Computed):
        return  # its reader has counted them
    if isinstance(kind, Merge):
        if len(fed) < 2:
            raise InputError(f"joins {len(fed)} input; it takes two or more")
        return
    wanted = 0 if isinstance(kind, Input) else 3 if isinstance(kind, Attention) and not kind.projected else 1
    if len(fed) != wanted:
        raise InputError(f"has {len(fed)} inputs; it takes {wanted}")


def sides(padding: tuple[tuple[int, int], ...] | str, size: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...],
          dilation: tuple[int, ...], causal: bool = False) -> tuple[tuple[int, int], ...]:  # fmt: skip
    """Padding before and after along each dimension; of `same` the odd element comes after, of a causal layer all before.

    >>> sides("same", (10,), (4,), (1,), (1,)), sides("same", (10,), (3,), (2,), (1,))
    (((1, 2),), ((0, 1),))
    """
    if causal:
        return tuple((d * (w - 1), 0) for w, d in zip(window, dilation, strict=True))
    if not isinstance(padding, str):
        return padding
    totals = [
        max(0, (math.ceil(n / s) - 1) * s + d * (w - 1) + 1 - n)
        for n, w, s, d in zip(size, window, stride, dilation, strict=True)
    ]
    return tuple((total // 2, total - total // 2) for total in totals)


def _slid(shape: Shape, over: str, sizes: tuple[int, ...], channels: int) -> Shape:
    return Shape(channels, shape.spatial, sizes[0]) if over == "time" else Shape(channels, sizes, shape.time)


def slid_over(shape: Shape, over: str, dimensions: int) -> tuple[int, ...]:
    """The sizes of the dimensions that a window slides along.

    Raises:
        InputError: the shape has not as many of them.
    """
    if over == "time":
        if shape.time is None or dimensions != 1:
            raise InputError(f"slides over time, and there is none in {shape}")
        if shape.spatial:
            raise InputError(f"slides over time, and {shape} goes in: images in time are not understood here")
        return (shape.time,)
    if len(shape.spatial) != dimensions:
        raise InputError(f"slides over {dimensions} dimensions of space, and {shape} has {len(shape.spatial)}")
    return shape.spatial


def _windows(size: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...],
             padded: tuple[tuple[int, int], ...]) -> tuple[int, ...]:  # fmt: skip
    return tuple(
        (n + sum(p) - d * (w - 1) - 1) // s + 1 if n + sum(p) >= d * (w - 1) + 1 else 0
        for n, w, s, d, p in zip(size, window, stride, dilation, padded, strict=True)
    )


def _convolution(kind: Convolution, fed: Shape) -> Shape:
    size = slid_over(fed, kind.over, len(kind.window))
    channels = kind.filters * fed.channels if kind.groups is None else kind.filters
    if kind.groups is not None and (fed.channels % kind.groups or kind.filters % kind.groups):
        raise InputError(f"has {kind.groups} groups, which do not divide {fed.channels} channels into {kind.filters} filters")
    if kind.transposed:
        if kind.padding == "same":  # MATLAB's transposedConv2dLayer: the output is the input times the stride
            return _slid(fed, kind.over, tuple(n * s for n, s in zip(size, kind.stride, strict=True)), channels)
        cropped = kind.padding
        out = tuple(
            (n - 1) * s + w - sum(c) for n, s, w, c in zip(size, kind.stride, kind.window, cropped, strict=True)
        )  # fmt: skip
        return _slid(fed, kind.over, out, channels)
    padded = sides(kind.padding, size, kind.window, kind.stride, kind.dilation, kind.causal)
    return _slid(fed, kind.over, _windows(size, kind.window, kind.stride, kind.dilation, padded), channels)


def _pooling(kind: Pooling, fed: Shape) -> Shape:
    size = slid_over(fed, kind.over, len(kind.window))
    ones = (1,) * len(size)
    padded = sides(kind.padding, size, kind.window, kind.stride, ones)
    return _slid(fed, kind.over, _windows(size, kind.window, kind.stride, ones, padded), fed.channels)


def _global(kind: GlobalPooling, fed: Shape) -> Shape:
    if kind.over == "time":
        if fed.time is None:
            raise InputError(f"takes all time steps together, and there are none in {fed}")
        return replace(fed, time=None)
    if not fed.spatial:
        raise InputError(f"takes all of space together, and there is none in {fed}")
    return Shape(fed.channels, (), fed.time)  # MATLAB keeps sizes of 1; as numbers they are the same


def _dense(kind: Dense, fed: Shape) -> Shape:
    return Shape(kind.units, (), fed.time)


def _embedding(kind: Embedding, fed: Shape) -> Shape:
    if fed.channels != 1 or fed.spatial:
        raise InputError(f"looks up one whole number at a time, and {fed} goes in")
    return Shape(kind.width, (), fed.time)


def _recurrent(kind: Recurrent, fed: Shape) -> Shape:
    if fed.time is None:
        raise InputError(f"goes through time steps, and there are none in {fed}")
    if fed.spatial:
        raise InputError(f"takes vectors, and {fed} goes in: flatten it first")
    channels = kind.hidden * (2 if kind.bidirectional else 1)
    return Shape(channels, (), fed.time if kind.output == "sequence" else None)


def _attention(kind: Attention, fed: tuple[Shape, ...]) -> Shape:
    if any(shape.time is None or shape.spatial for shape in fed):
        raise InputError(f"takes sequences of vectors, and {fed[0]} goes in")
    if kind.projected:
        for size, said in ((kind.keys, "key"), (kind.values or kind.keys, "value")):
            if size % kind.heads:
                raise InputError(f"has {kind.heads} heads, which do not divide its {size} {said} channels")
        return replace(fed[0], channels=kind.output or fed[0].channels)
    queries, keys, values = fed
    if queries.channels != keys.channels or keys.time != values.time:
        raise InputError(f"cannot match queries {queries} with keys {keys} and values {values}")
    if queries.channels % kind.heads or values.channels % kind.heads:
        raise InputError(f"has {kind.heads} heads, which do not divide {queries.channels} and {values.channels} channels")
    return replace(queries, channels=values.channels)


def _normalization(kind: Normalization, fed: Shape) -> Shape:
    if kind.over == "group" and kind.groups and fed.channels % kind.groups:
        raise InputError(f"has {kind.groups} groups, which do not divide {fed.channels} channels")
    if kind.over in ("instance", "group") and not fed.spatial and fed.time is None:
        raise InputError(f"normalises over space or time, and there is none in {fed}")
    return fed


def _flatten(kind: Flatten, fed: Shape) -> Shape:
    return Shape(fed.channels * math.prod(fed.spatial), (), fed.time)


def _merge(kind: Merge, fed: tuple[Shape, ...]) -> Shape:
    first = fed[0]
    if kind.how != "concatenate":
        others = [shape for shape in fed if shape != first and not _spreads(shape, first)]
        if others:
            raise InputError(f"joins {first} with {others[0]}: they have to be equal")
        return first
    if kind.axis is None:
        if any((shape.spatial, shape.time) != (first.spatial, first.time) for shape in fed):
            raise InputError(f"puts channels side by side, and {' and '.join(map(str, fed))} differ in more than these")
        return replace(first, channels=sum(shape.channels for shape in fed))
    at = kind.axis
    if at >= len(first.spatial):
        raise InputError(f"joins along dimension {at + 1} of space, and {first} has {len(first.spatial)}")
    rest = {(s.channels, s.time, s.spatial[:at], s.spatial[at + 1 :]) for s in fed}
    if len(rest) > 1:
        raise InputError(f"puts {' and '.join(map(str, fed))} side by side, and they differ in more than dimension {at + 1}")
    size = sum(shape.spatial[at] for shape in fed)
    return replace(first, spatial=(*first.spatial[:at], size, *first.spatial[at + 1 :]))


def _spreads(shape: Shape, over: Shape) -> bool:
    """Whether a shape stands for the other by repeating sizes of 1 (MATLAB's additionLayer does so)."""
    if (shape.time is None) != (over.time is None) or len(shape.spatial) not in (0, len(over.spatial)):
        return False
    pairs = zip((shape.channels, *shape.spatial), (over.channels, *over.spatial), strict=False)
    return shape.time in (1, over.time) and all(a in (1, b) for a, b in pairs)


def _positions(kind: Positions, fed: Shape) -> Shape:
    if fed.time is None:
        raise InputError(f"numbers time steps, and there are none in {fed}")
    if kind.length is not None and fed.time > kind.length:
        raise InputError(f"has {kind.length} positions, and the sequences have {fed.time} time steps")
    return Shape(kind.width, (), fed.time)


def _computed(kind: Computed, fed: tuple[Shape, ...]) -> Shape:
    axes = kind.shape
    if len(axes) < 2:
        return Shape(axes[0] if axes else 1)
    if len(axes) == 2:
        return Shape(axes[1], (), axes[0])
    return Shape(axes[-1], axes[:-1]) if kind.last else Shape(axes[0], axes[1:])


def _same(kind: Kind, fed: Shape) -> Shape:
    return fed


#: Kind of layer → what it gives of what goes in: of one input, and of several.
_OF_ONE: dict[type, Callable[..., Shape]] = {
    Convolution: _convolution, Pooling: _pooling, GlobalPooling: _global, Dense: _dense, Embedding: _embedding,
    Recurrent: _recurrent, Normalization: _normalization, LocalNormalization: _same, Activation: _same, Dropout: _same,
    Flatten: _flatten, Identity: _same, Positions: _positions,
}  # fmt: skip
_OF_MANY: dict[type, Callable[..., Shape]] = {Attention: _attention, Merge: _merge, Computed: _computed}
