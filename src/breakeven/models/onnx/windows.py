"""ONNX's operators that slide a window, pad, or resize. Channels come first, as in PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from breakeven.errors import InputError
from breakeven.models.kinds import Product
from breakeven.models.onnx.node import Node
from breakeven.models.translation import Axes, convolved, number, numbers

Answer = tuple[str, float, tuple[Product, ...]]


def _window(node: Node, window: Axes) -> tuple[Axes, Axes, tuple[tuple[int, int], ...]]:
    """Stride, dilation and padding."""
    rank = len(window)
    stride = tuple(int(n) for n in node.attributes.get("strides", [1] * rank))
    dilation = tuple(int(n) for n in node.attributes.get("dilations", [1] * rank))
    if len(stride) != rank or len(dilation) != rank or min((*stride, *dilation, *window)) < 1:
        raise InputError("its window, strides and dilations do not fit")
    how = node.attributes.get("auto_pad", "NOTSET")
    size = node.shape(0)[2:]
    if how in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max(0, (math.ceil(n / s) - 1) * s + d * (w - 1) + 1 - n)
            for n, w, s, d in zip(size, window, stride, dilation, strict=True)
        ]
        pairs = tuple((t // 2, t - t // 2) if how == "SAME_UPPER" else (t - t // 2, t // 2) for t in totals)
        return stride, dilation, pairs
    pads = [int(n) for n in node.attributes.get("pads", [0] * 2 * rank)] if how == "NOTSET" else [0] * 2 * rank
    if len(pads) != 2 * rank:
        raise InputError("its padding does not fit")
    return stride, dilation, tuple(zip(pads[:rank], pads[rank:], strict=True))


def _padded(text: str, pairs: tuple[tuple[int, int], ...], value: str = "") -> str:
    return f"F.pad({text}, ({', '.join(f'{a}, {b}' for a, b in reversed(pairs))}){f', value={value}' if value else ''})"


def _convolution(node: Node) -> Answer:
    weights = node.shape(1)
    window = weights[2:]
    if not 1 <= len(window) <= 3:
        raise InputError(f"slides over {len(window)} dimensions")
    stride, dilation, pairs = _window(node, window)
    groups, even = node.whole("group", 1), all(a == b for a, b in pairs)
    text = node.text(0)
    if not even:
        text, pairs = _padded(text, pairs), ((0, 0),) * len(window)
    bias = node.array(2) if node.has(2) else "None"
    padding = tuple(a for a, _ in pairs)
    said = f"{numbers(stride)}, {numbers(padding)}, {numbers(dilation)}, {groups}"
    called = f"F.conv{len(window)}d({text}, {node.array(1)}, {bias}, {said})"
    shape, out = node.shape(0), node.out()
    flops, products = convolved(shape[1], shape[2:], weights[0], window, stride, padding, out[2:], groups)
    scaled = tuple(Product(p.op, tuple((n, s * shape[0] if n == p.batch else s) for n, s in p.sizes), p.batch) for p in products)
    return called, flops * shape[0], scaled


def _transposed(node: Node) -> Answer:
    weights = node.shape(1)
    window = weights[2:]
    rank = len(window)
    if node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or "output_shape" in node.attributes:
        raise InputError("auto_pad and output_shape are not understood here")
    stride, dilation, pairs = _window(node, window)
    if any(a != b for a, b in pairs):
        raise InputError("uneven padding is not understood here")
    more = tuple(int(n) for n in node.attributes.get("output_padding", [0] * rank))
    bias = node.array(2) if node.has(2) else "None"
    padding = tuple(a for a, _ in pairs)
    said = f"{numbers(stride)}, {numbers(padding)}, {numbers(more)}, {node.whole('group', 1)}, {numbers(dilation)}"
    flops = 2.0 * math.prod(node.shape(0)) * math.prod(weights[1:])
    return f"F.conv_transpose{rank}d({node.text(0)}, {node.array(1)}, {bias}, {said})", flops, ()


def _pool(how: str) -> Callable[[Node], str]:
    def tell(node: Node) -> str:
        window = tuple(int(n) for n in node.attributes.get("kernel_shape", []))
        if not 1 <= len(window) <= 3:
            raise InputError(f"slides over {len(window)} dimensions")
        stride, dilation, pairs = _window(node, window)
        ceil = ", ceil_mode=True" if node.whole("ceil_mode") else ""
        fits = all(a == b and 2 * a <= w for (a, b), w in zip(pairs, window, strict=True))
        text, padding = node.text(0), tuple(a for a, _ in pairs)
        if how == "max":
            if not fits:
                text, padding = _padded(text, pairs, 'float("-inf")'), (0,) * len(window)
            said = f"{numbers(window)}, {numbers(stride)}, {numbers(padding)}, {numbers(dilation)}"
            return f"F.max_pool{len(window)}d({text}, {said}{ceil})"
        if set(dilation) != {1}:
            raise InputError("dilations of an average are not understood")
        count = bool(node.whole("count_include_pad"))
        if not fits:
            if not count:
                raise InputError("an average over uneven padding that does not count is not understood")
            text, padding = _padded(text, pairs), (0,) * len(window)
        counted = "" if count else ", count_include_pad=False"
        return f"F.avg_pool{len(window)}d({text}, {numbers(window)}, {numbers(stride)}, {numbers(padding)}{ceil}{counted})"

    return tell


def _global(how: str) -> Callable[[Node], str]:
    def tell(node: Node) -> str:
        axes = ", ".join(str(at) for at in range(2, len(node.shape(0))))
        return f"{node.text(0)}.{how}(({axes},), keepdim=True)"

    return tell


def _pad(node: Node) -> str:
    pads = node.constant(1, "pads") or []
    axes = node.constant(3) if node.has(3) else None
    rank = len(node.shape(0))
    where = [node.axis(one) for one in axes] if axes else list(range(rank))
    if len(pads) != 2 * len(where):
        raise InputError("its padding does not fit")
    pairs = [(0, 0)] * rank
    for axis, before, after in zip(where, pads[: len(where)], pads[len(where) :], strict=True):
        pairs[axis] = (before, after)
    mode = str(node.attributes.get("mode", "constant"))
    if mode == "constant":
        value = node.text(2) if node.has(2) else number(node.real("value", 0.0))
        return _padded(node.text(0), tuple(pairs), value)
    words = {"reflect": "reflect", "edge": "replicate"}
    if mode not in words or any(pair != (0, 0) for pair in pairs[:2]):
        raise InputError(f"mode={mode} is not understood here")
    return _padded(node.text(0), tuple(pairs[2:]))[:-1] + f', mode="{words[mode]}")'


def _resize(node: Node) -> str:
    shape, out = node.shape(0), node.out()
    mode = str(node.attributes.get("mode", "nearest"))
    how = str(node.attributes.get("coordinate_transformation_mode", "half_pixel"))
    if shape[:2] != out[:2] or not 3 <= len(shape) <= 5:
        raise InputError("resizes the batch or the channels")
    size = f"({', '.join(map(str, out[2:]))},)"
    if mode == "nearest":
        whole = all(o % n == 0 for n, o in zip(shape[2:], out[2:], strict=True))
        near = str(node.attributes.get("nearest_mode", "round_prefer_floor"))
        if not ((how, near) == ("asymmetric", "floor") or (whole and how == "half_pixel" and near.startswith("round"))):
            raise InputError(f"{how} with {near} is not understood")
        return f'F.interpolate({node.text(0)}, {size}, mode="nearest")'
    words = {("linear", 3): "linear", ("linear", 4): "bilinear", ("linear", 5): "trilinear", ("cubic", 4): "bicubic"}
    word = words.get((mode, len(shape)))
    if word is None or how not in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        raise InputError(f"{mode} with {how} is not understood")
    return f'F.interpolate({node.text(0)}, {size}, mode="{word}", align_corners={how == "align_corners"})'


def _local(node: Node) -> str:
    said = [number(node.real(name, default)) for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))]
    return f"F.local_response_norm({node.text(0)}, {node.whole('size')}, {', '.join(said)})"


#: Operator → what it becomes.
WINDOWS: Final[dict[str, Callable[[Node], str | Answer]]] = {
    "Conv": _convolution, "ConvTranspose": _transposed, "MaxPool": _pool("max"), "AveragePool": _pool("avg"),
    "GlobalAveragePool": _global("mean"), "GlobalMaxPool": _global("amax"), "Pad": _pad, "Resize": _resize, "LRN": _local,
}  # fmt: skip
