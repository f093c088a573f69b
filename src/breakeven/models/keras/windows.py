"""Convolution, pooling, padding and cropping, channels last, as Keras computes them on PyTorch: a view there, a view back.

Source of `same` padding: the odd element after (keras/src/backend/torch/nn.py); an uneven pooling repeats the edge there.
"""

from __future__ import annotations

import math

from breakeven.errors import InputError
from breakeven.models.keras.activations import applied, named
from breakeven.models.keras.arguments import At, plain
from breakeven.models.shapes import sides
from breakeven.models.translation import Axes, Piece, convolved, numbers, positive


def _inwards(text: str, dimensions: int) -> str:
    return f"{text}.movedim(-1, 1)" if dimensions else text


def _outwards(text: str) -> str:
    return f"{text}.movedim(1, -1)"


def _space(at: At, dimensions: int) -> Axes:
    fed = at.fed[0]
    if len(fed) != dimensions + 1:
        raise InputError(f"takes {dimensions} dimensions and channels, and {'×'.join(map(str, fed))} goes in")
    return fed[:-1]


def _slid(size: Axes, window: Axes, stride: Axes, dilation: Axes, padding: tuple[tuple[int, int], ...]) -> Axes:
    return tuple(
        max(0, (n + sum(p) - d * (w - 1) - 1) // s + 1)
        for n, w, s, d, p in zip(size, window, stride, dilation, padding, strict=True)
    )


def _padding(at: At, size: Axes, window: Axes, stride: Axes, dilation: Axes) -> tuple[tuple[int, int], ...]:
    how = at.word("padding", "valid", ("valid", "same", "causal"))
    if how == "causal":
        if len(size) != 1:
            raise at.wrong("padding")
        return ((dilation[0] * (window[0] - 1), 0),)
    return sides("same" if how == "same" else ((0, 0),) * len(size), size, window, stride, dilation)


def _pad(text: str, padding: tuple[tuple[int, int], ...], more: str = "") -> str:
    return f"F.pad({text}, ({', '.join(f'{a}, {b}' for a, b in reversed(padding))}){more})"


def convolution(at: At, dimensions: int) -> Piece:
    """Conv1D, Conv2D, Conv3D."""
    fed = at.fed[0]
    groups = at.whole("groups", 1)
    filters = at.whole("filters")
    return _convolved(at, dimensions, filters, groups, fed[-1], "kernel")


def depthwise(at: At, dimensions: int) -> Piece:
    """DepthwiseConv1D, DepthwiseConv2D."""
    channels = at.fed[0][-1]
    return _convolved(at, dimensions, channels * at.whole("depth_multiplier", 1), channels, channels, "kernel")


def _convolved(at: At, dimensions: int, filters: int, groups: int, channels: int, array: str) -> Piece:
    at.channels_last()
    size, window = _space(at, dimensions), at.sizes("kernel_size", dimensions)
    stride, dilation = at.sizes("strides", dimensions, 1), at.sizes("dilation_rate", dimensions, 1)
    if channels % groups or filters % groups:
        raise InputError(f"has {groups} groups, which do not divide {channels} channels into {filters} filters")
    padding = _padding(at, size, window, stride, dilation)
    out = positive((*_slid(size, window, stride, dilation, padding), filters), at.kind)
    bias = at.flag("use_bias", True)
    even = all(a == b for a, b in padding)
    text = _inwards("$0", dimensions)
    said = [str(channels), str(filters), numbers(window)]
    said += [f"stride={numbers(stride)}"] if set(stride) != {1} else []
    if even and any(a for a, _ in padding):
        said.append(f"padding={numbers(tuple(a for a, _ in padding))}")
    elif not even:
        text = _pad(text, padding)
    said += [f"dilation={numbers(dilation)}"] if set(dilation) != {1} else []
    said += [f"groups={groups}"] if groups != 1 else []
    said += [] if bias else ["bias=False"]
    flops, products = convolved(
        channels, size, filters, window, stride, tuple(max(p) for p in padding), out[:-1], groups
    )  # fmt: skip
    arrays: tuple[tuple[str, Axes], ...] = (("weights", (*window, channels // groups, filters)),)
    arrays += (("bias", (filters,)),) if bias else ()
    calls = applied(named(at), _outwards(f"$me({text})"))
    return Piece(calls, out, (f"$me = nn.Conv{dimensions}d({', '.join(said)})",), arrays, (), flops, products)


def separable(at: At, dimensions: int) -> Piece:
    """SeparableConv1D, SeparableConv2D: depth by depth, then point by point."""
    inner = At(at.kind, at.name, {**at.config, "use_bias": False, "activation": None}, at.fed)
    first = depthwise(inner, dimensions)
    between, filters, bias = first.shape, at.whole("filters"), at.flag("use_bias", True)
    ones = (1,) * dimensions
    flops, products = convolved(between[-1], between[:-1], filters, ones, ones, (0,) * dimensions, between[:-1], 1)
    point = f"nn.Conv{dimensions}d({between[-1]}, {filters}, 1{'' if bias else ', bias=False'})"
    depth = first.makes[0].removeprefix("$me = ")
    text = first.calls.replace("$me", "$me[0]").removesuffix(".movedim(1, -1)")
    calls = applied(named(at), _outwards(f"$me[1]({text})"))
    arrays = (*first.arrays, ("point_weights", (*ones, between[-1], filters)), *((("bias", (filters,)),) if bias else ()))
    return Piece(
        calls, (*between[:-1], filters), (f"$me = nn.ModuleList([{depth}, {point}])",), arrays, (), first.flops + flops,
        (*first.products, *products),
    )  # fmt: skip


def transposed(at: At, dimensions: int) -> Piece:
    """Conv1DTranspose to Conv3DTranspose: the whole, cut to the window that Keras gives."""
    at.channels_last()
    size, window = _space(at, dimensions), at.sizes("kernel_size", dimensions)
    stride, dilation = at.sizes("strides", dimensions, 1), at.sizes("dilation_rate", dimensions, 1)
    further = None if plain(at.config.get("output_padding")) is None else at.sizes("output_padding", dimensions, least=0)
    same = at.word("padding", "valid", ("valid", "same")) == "same"
    channels, filters, bias = at.fed[0][-1], at.whole("filters"), at.flag("use_bias", True)
    cuts = [
        _cut(w, s, d, same, None if further is None else further[i])
        for i, (w, s, d) in enumerate(zip(window, stride, dilation, strict=True))
    ]
    full = [(n - 1) * s + d * (w - 1) + 1 for n, w, s, d in zip(size, window, stride, dilation, strict=True)]
    out = positive((*(n - a - b for n, (a, b) in zip(full, cuts, strict=True)), filters), at.kind)
    text = f"$me({_inwards('$0', dimensions)})"
    if any(a > 0 or b > 0 for a, b in cuts):
        text = _pad(text, tuple((-a, -max(b, 0)) for a, b in cuts))
    said = [str(channels), str(filters), numbers(window)]
    said += [f"stride={numbers(stride)}"] if set(stride) != {1} else []
    more = tuple(max(-b, 0) for _, b in cuts)
    said += [f"output_padding={numbers(more)}"] if any(more) else []
    said += [f"dilation={numbers(dilation)}"] if set(dilation) != {1} else []
    said += [] if bias else ["bias=False"]
    arrays: tuple[tuple[str, Axes], ...] = (("weights", (*window, filters, channels)),)
    arrays += (("bias", (filters,)),) if bias else ()
    flops = 2.0 * math.prod(size) * channels * filters * math.prod(window)
    make = f"$me = nn.ConvTranspose{dimensions}d({', '.join(said)})"
    return Piece(applied(named(at), _outwards(text)), out, (make,), arrays, (), flops)


def _cut(window: int, stride: int, dilation: int, same: bool, further: int | None) -> tuple[int, int]:
    """What is cut off the whole on both sides (compute_conv_transpose_output_crops_for_torch of Keras; less than 0: added)."""
    window = (window - 1) * dilation + 1
    if not same:
        more = max(window, stride) - window if further is None else further
        return 0, -more
    padded = stride + window - 2 if further is None else window + window % 2 - 2 + further
    left = min(padded // 2 + padded % 2, window - 1)
    return window - 1 - left, window - 1 - (padded - left)


def pooling(at: At, dimensions: int, how: str) -> Piece:
    """MaxPooling and AveragePooling."""
    at.channels_last()
    size, window = _space(at, dimensions), at.sizes("pool_size", dimensions, 2)
    stride = window if plain(at.config.get("strides")) is None else at.sizes("strides", dimensions)
    ones = (1,) * dimensions
    padding = _padding(at, size, window, stride, ones)
    out = positive((*_slid(size, window, stride, ones, padding), at.fed[0][-1]), at.kind)
    text = _inwards("$0", dimensions)
    said = [numbers(window), f"stride={numbers(stride)}"]
    if all(a == b for a, b in padding):
        said += [f"padding={numbers(tuple(a for a, _ in padding))}"] if any(a for a, _ in padding) else []
    else:
        text = _pad(text, padding, ', mode="replicate"')
    said += ["count_include_pad=False"] if how == "Avg" and dimensions else []
    return Piece(_outwards(f"$me({text})"), out, (f"$me = nn.{how}Pool{dimensions}d({', '.join(said)})",))


def global_pooling(at: At, dimensions: int, how: str) -> Piece:
    """GlobalMaxPooling and GlobalAveragePooling; a mask leaves time steps out of the mean."""
    at.channels_last()
    _space(at, dimensions)
    keep = at.flag("keepdims", False)
    axes = ", ".join(str(1 + one) for one in range(dimensions))
    channels = at.fed[0][-1]
    out = (*(1,) * dimensions, channels) if keep else (channels,)
    if at.masked and how == "mean":
        kept = ", keepdim=True" if keep else ""
        return Piece(f"($0 * $1.unsqueeze(-1)).sum(1{kept}) / $1.unsqueeze(-1).sum(1{kept})", out)
    return Piece(f"$0.{how}(({axes},){', keepdim=True' if keep else ''})", out)


def zero_padding(at: At, dimensions: int) -> Piece:
    """ZeroPadding1D to ZeroPadding3D."""
    at.channels_last()
    pairs = _pairs(at, "padding", dimensions)
    size = _space(at, dimensions)
    out = (*(n + a + b for n, (a, b) in zip(size, pairs, strict=True)), at.fed[0][-1])
    return Piece(_pad("$0", (*pairs, (0, 0))), positive(out, at.kind))


def cropping(at: At, dimensions: int) -> Piece:
    """Cropping1D to Cropping3D."""
    at.channels_last()
    pairs = _pairs(at, "cropping", dimensions)
    size = _space(at, dimensions)
    out = (*(n - a - b for n, (a, b) in zip(size, pairs, strict=True)), at.fed[0][-1])
    cuts = ", ".join(f"{a}:{n - b}" for n, (a, b) in zip(size, pairs, strict=True))
    return Piece(f"$0[:, {cuts}]", positive(out, at.kind))


def _pairs(at: At, key: str, dimensions: int) -> tuple[tuple[int, int], ...]:
    value = plain(at.config.get(key, 1))
    values = [value] * dimensions if isinstance(value, int) else value
    if dimensions == 1 and isinstance(values, list) and len(values) == 2:
        values = [values]
    if not isinstance(values, list) or len(values) != dimensions:
        raise at.wrong(key)
    pairs = []
    for one in values:
        one = plain(one)
        pair = [one, one] if isinstance(one, int) else one
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(p, int) and 0 <= p < 2**31 for p in pair):
            raise at.wrong(key)
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def upsampling(at: At, dimensions: int) -> Piece:
    """UpSampling1D to UpSampling3D: repeats, or interpolates images."""
    at.channels_last()
    size = _space(at, dimensions)
    by = at.sizes("size", dimensions, 2)
    out = positive((*(n * s for n, s in zip(size, by, strict=True)), at.fed[0][-1]), at.kind)
    if at.word("interpolation", "nearest", ("nearest", "bilinear")) == "bilinear":
        sizes = ", ".join(map(str, out[:-1]))
        return Piece(_outwards(f'F.interpolate({_inwards("$0", dimensions)}, ({sizes}), mode="bilinear")'), out)
    text = "$0"
    for axis, times in enumerate(by, 1):
        text += f".repeat_interleave({times}, {axis})" if times != 1 else ""
    return Piece(text, out)
