"""A description's layers as operations in the vocabulary of `breakeven predict`: forward, and backward where it is trained.

A layer that the vocabulary does not have keeps its own name, so that it comes back without a price and with the reason.
"""

from __future__ import annotations

import math

from breakeven.models.kinds import (
    Activation,
    Attention,
    Computed,
    Convolution,
    Dense,
    Kind,
    Merge,
    Normalization,
    Product,
    Recurrent,
)
from breakeven.models.network import Network, Shape
from breakeven.models.shapes import sides, slid_over
from breakeven.models.torch_layers import is_fused

Row = dict[str, str | int]


def operations(network: Network, batch: int, learns: bool = True) -> list[Row]:
    """One row for each operation, in the order of the layers; column `layer` names the layer, `direction` what is run of it.

    Args:
        network: the network.
        batch: samples of a step.
        learns: whether it is trained; else its operations are those of the forward pass.

    >>> from breakeven.models.shorthand.read import network
    >>> operations(network("linear 784→10"), 32)
    [{'layer': 'linear 1', 'op': 'linear', 'm': 32, 'n': 10, 'k': 784, 'direction': 'both'}]
    """
    rows: list[Row] = []
    direction = "both" if learns else "forward"
    for layer in network.layers:
        if layer.inputs:
            fed, given = network.fed(layer), network.shapes[layer.name]
            rows += [{"layer": layer.name, **row, "direction": direction} for row in _rows(layer.kind, fed, given, batch)]
    return rows


def _rows(kind: Kind, fed: tuple[Shape, ...], given: Shape, batch: int) -> list[Row]:
    if isinstance(kind, Computed):
        return [_product(one, batch) for one in kind.products] or [{"op": "other"}]
    first = fed[0]
    samples = batch * (first.time or 1)
    elements = samples * given.channels * math.prod(given.spatial)
    if isinstance(kind, Dense):
        return [{"op": "linear", "m": samples, "n": kind.units, "k": first.channels * math.prod(first.spatial)}]
    if isinstance(kind, Convolution) and len(kind.window) < 3 and not kind.transposed and kind.groups == 1:
        return [_convolution(kind, first, given, batch)]
    if isinstance(kind, Recurrent) and is_fused(kind):
        return [
            {
                "op": kind.cell, "hidden": kind.hidden, "batch": batch, "timesteps": first.time or 1, "input": first.channels,
                "bidirectional": int(kind.bidirectional),
            }
        ]  # fmt: skip
    if isinstance(kind, Attention) and kind.projected:
        return _attention(kind, first, given, batch)
    if isinstance(kind, Activation) and kind.function in ("relu", "gelu", "tanh", "sigmoid"):
        return [{"op": kind.function, "elements": elements}]
    if isinstance(kind, Activation) and kind.function == "softmax":
        return [{"op": "softmax", "rows": elements // given.channels, "cols": given.channels}]
    if isinstance(kind, Normalization) and kind.over == "layer" and not first.spatial:
        return [{"op": "layernorm", "rows": samples, "cols": first.channels}]
    if isinstance(kind, Merge) and kind.how != "concatenate":
        return [{"op": "add" if kind.how == "add" else "mul", "elements": elements, "inputs": 2}] * (len(fed) - 1)
    return [{"op": type(kind).__name__.lower()}]


def _product(one: Product, batch: int) -> Row:
    return {"op": one.op, **{name: size * batch if name == one.batch else size for name, size in one.sizes}}


def _convolution(kind: Convolution, fed: Shape, given: Shape, batch: int) -> Row:
    """One over time is one over images of height 1.

    The vocabulary knows neither dilation nor padding on one side: such a convolution is the plain one with as many outputs.
    """
    size = slid_over(fed, kind.over, len(kind.window))
    padding = sides(kind.padding, size, kind.window, kind.stride, kind.dilation, kind.causal)
    before = tuple(first for first, _ in padding)
    if set(kind.dilation) != {1} or any(first != last for first, last in padding):
        out = slid_over(given, kind.over, len(kind.window))
        size = tuple((n - 1) * s + w for n, s, w in zip(out, kind.stride, kind.window, strict=True))
        before = (0,) * len(size)
    lone = len(size) == 1
    (h, w), (r, s), (pad_h, pad_w) = [((base, *x) if lone else x) for base, x in ((1, size), (1, kind.window), (0, before))]
    stride_h, stride_w = (1, *kind.stride) if lone else kind.stride
    count = batch * (fed.time or 1) if kind.over == "space" else batch
    return {
        "op": "conv2d", "n": count, "c": fed.channels, "h": h, "w": w, "k": kind.filters, "r": r, "s": s, "pad_h": pad_h,
        "pad_w": pad_w, "stride_h": stride_h, "stride_w": stride_w,
    }  # fmt: skip


def _attention(kind: Attention, fed: Shape, given: Shape, batch: int) -> list[Row]:
    steps, values = fed.time or 1, kind.values or kind.keys
    pairs = batch * kind.heads
    projections = [(kind.keys, fed.channels), (kind.keys, fed.channels), (values, fed.channels), (given.channels, values)]
    rows: list[Row] = [{"op": "linear", "m": batch * steps, "n": n, "k": k} for n, k in projections]
    rows.append({"op": "bmm", "b": pairs, "m": steps, "n": steps, "k": kind.keys // kind.heads})
    rows.append({"op": "softmax", "rows": pairs * steps, "cols": steps})
    rows.append({"op": "bmm", "b": pairs, "m": steps, "n": values // kind.heads, "k": steps})
    return rows
