"""Keras's layers by name, each with what it becomes. What is in no table is named, never guessed."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

from breakeven.errors import InputError
from breakeven.models.keras import recurrence, windows
from breakeven.models.keras.activations import applied, named, relu_layer
from breakeven.models.keras.arguments import At, plain
from breakeven.models.kinds import Product
from breakeven.models.translation import Axes, Piece, linear, number, positive


def _dense(at: At) -> Piece:
    """A product with the last axis alone."""
    fed, units, bias = at.fed[0], at.whole("units"), at.flag("use_bias", True)
    flops, products = linear(math.prod(fed[:-1]), fed[-1], units)
    arrays: tuple[tuple[str, Axes], ...] = (("weights", (fed[-1], units)), *((("bias", (units,)),) if bias else ()))
    make = f"$me = nn.Linear({fed[-1]}, {units}{'' if bias else ', bias=False'})"
    return Piece(applied(named(at), "$me($0)"), positive((*fed[:-1], units), at.kind), (make,), arrays, (), flops, products)


def _embedding(at: At) -> Piece:
    rows, width = at.whole("input_dim"), at.whole("output_dim")
    make = f"$me = nn.Embedding({rows}, {width})"
    return Piece("$me($0.long())", positive((*at.fed[0], width), at.kind), (make,), (("weights", (rows, width)),))


def _same(at: At, text: str) -> Piece:
    return Piece(text, at.fed[0])


def _activation(at: At) -> Piece:
    return _same(at, applied(named(at), "$0"))


def _prelu(at: At) -> Piece:
    shared = plain(at.config.get("shared_axes")) or []
    if not isinstance(shared, list) or not all(isinstance(axis, int) and 1 <= axis <= len(at.fed[0]) for axis in shared):
        raise at.wrong("shared_axes")
    shape = tuple(1 if axis in shared else size for axis, size in enumerate(at.fed[0], 1))
    sizes = ", ".join(map(str, shape))
    return Piece(
        "torch.relu($0) - $me * torch.relu(-$0)", at.fed[0], (f"$me = nn.Parameter(torch.zeros({sizes}))",), (("alpha", shape),)
    )


def _softmax(at: At) -> Piece:
    return _same(at, f"F.softmax($0, {_axis(at)})")


def _axis(at: At, key: str = "axis", default: int = -1) -> int:
    """An axis that is not the batch's, counted with the batch."""
    value = plain(at.config.get(key, default))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    rank = len(at.fed[0]) + 1
    if not isinstance(value, int) or isinstance(value, bool) or not -rank <= value < rank or value % rank == 0:
        raise at.wrong(key)
    return value % rank


def _dropout(at: At) -> Piece:
    rate, noise = at.rate("rate"), plain(at.config.get("noise_shape"))
    if noise is not None:
        raise at.wrong("noise_shape")
    return Piece("$me($0)", at.fed[0], (f"$me = nn.Dropout({rate!r})",))


def _spatial_dropout(at: At) -> Piece:
    """Whole channels at once, the same at all places."""
    first = ":, " + ", ".join([":1"] * (len(at.fed[0]) - 1)) if len(at.fed[0]) > 1 else ":"
    return _same(at, f"$0 * F.dropout(torch.ones_like($0[{first}]), {at.rate('rate')!r}, self.training)")


def _noise(at: At) -> Piece:
    deviation = at.real("stddev", 0.0)
    return _same(at, f"($0 + {number(deviation)} * torch.randn_like($0) if self.training else $0)")


def _batch_norm(at: At) -> Piece:
    """Keras's momentum keeps, PyTorch's renews."""
    axis, rank = _axis(at), len(at.fed[0])
    channels = at.fed[0][axis - 1]
    if rank > 4:
        raise InputError(f"normalises {rank} axes; at most 4 are understood")
    said = f"{channels}, eps={at.real('epsilon', 1e-3)!r}, momentum={1 - at.real('momentum', 0.99):.6g}"
    makes, arrays = _scaled(at, f"nn.BatchNorm{max(1, rank - 1)}d({said}", channels)
    text = "$me($0)" if rank == 1 or axis == 1 else f"$me($0.movedim({axis}, 1)).movedim(1, {axis})"
    return Piece(text, at.fed[0], makes, arrays)


def _scaled(at: At, module: str, channels: int) -> tuple[tuple[str, ...], tuple[tuple[str, Axes], ...]]:
    """A normalising module, its bracket still open, with a learned scale and offset where the layer has them."""
    scale, center = at.flag("scale", True), at.flag("center", True)
    makes: tuple[str, ...] = (f"$me = {module}{'' if scale or center else ', affine=False'})",)
    makes += () if scale or not center else ("$me.weight.requires_grad_(False)",)
    makes += () if center or not scale else ("$me.bias.requires_grad_(False)",)
    return makes, tuple((name, (channels,)) for name, there in (("scale", scale), ("offset", center)) if there)


def _layer_norm(at: At) -> Piece:
    value = plain(at.config.get("axis", -1))
    axes = sorted(
        one % (len(at.fed[0]) + 1) if isinstance(one, int) else 0 for one in (value if isinstance(value, list) else [value])
    )
    if axes != list(range(len(at.fed[0]) + 1 - len(axes), len(at.fed[0]) + 1)) or 0 in axes:
        raise at.wrong("axis")
    if at.flag("rms_scaling", False):
        raise at.wrong("rms_scaling")
    sizes = at.fed[0][axes[0] - 1 :]
    scale, center = at.flag("scale", True), at.flag("center", True)
    said = f"({', '.join(map(str, sizes))},), eps={at.real('epsilon', 1e-3)!r}"
    said += "" if scale else ", elementwise_affine=False" if not center else ""
    said += ", bias=False" if scale and not center else ""
    makes: tuple[str, ...] = (f"$me = nn.LayerNorm({said})",)
    makes += ("$me.weight.requires_grad_(False)",) if center and not scale else ()
    arrays = tuple((name, sizes) for name, there in (("scale", scale), ("offset", center)) if there)
    return Piece("$me($0)", at.fed[0], makes, arrays)


def _group_norm(at: At) -> Piece:
    axis, channels = _axis(at), at.fed[0][-1]
    if axis != len(at.fed[0]):
        raise at.wrong("axis")
    groups = at.config.get("groups", 32)
    groups = channels if groups == -1 else at.whole("groups", 32)
    if channels % groups:
        raise InputError(f"has {groups} groups, which do not divide {channels} channels")
    made, arrays = _scaled(at, f"nn.GroupNorm({groups}, {channels}, eps={at.real('epsilon', 1e-3)!r}", channels)
    return Piece("$me($0.movedim(-1, 1)).movedim(1, -1)", at.fed[0], made, arrays)


def _rms_norm(at: At) -> Piece:
    if _axis(at) != len(at.fed[0]):
        raise at.wrong("axis")
    width = at.fed[0][-1]
    return Piece(
        f"F.rms_norm($0, ({width},), $me, {at.real('epsilon', 1e-6)!r})", at.fed[0],
        (f"$me = nn.Parameter(torch.ones({width}))",), (("scale", (width,)),),
    )  # fmt: skip


def _unit_norm(at: At) -> Piece:
    return _same(at, f"F.normalize($0, dim={_axis(at)})")


def _flatten(at: At) -> Piece:
    at.channels_last()
    return Piece("$0.flatten(1)" if at.fed[0] else "$0.unsqueeze(1)", (math.prod(at.fed[0]),))


def _reshape(at: At) -> Piece:
    target = plain(at.config.get("target_shape"))
    if not isinstance(target, list) or not all(isinstance(n, int) and -1 <= n < 2**31 for n in target):
        raise at.wrong("target_shape")
    whole, known = math.prod(at.fed[0]), math.prod(n for n in target if n != -1)
    out = tuple(whole // max(1, known) if n == -1 else n for n in target)
    if target.count(-1) > 1 or math.prod(out) != whole:
        raise at.wrong("target_shape")
    return Piece(f"$0.reshape({', '.join(map(str, (-1, *out)))})", out)


def _permute(at: At) -> Piece:
    dims = plain(at.config.get("dims"))
    if not isinstance(dims, list) or sorted(d if isinstance(d, int) else 0 for d in dims) != list(range(1, len(at.fed[0]) + 1)):
        raise at.wrong("dims")
    return Piece(f"$0.permute({', '.join(map(str, (0, *dims)))})", tuple(at.fed[0][d - 1] for d in dims))


def _repeat(at: At) -> Piece:
    times = at.whole("n")
    if len(at.fed[0]) != 1:
        raise InputError("repeats vectors")
    return Piece(f"$0.unsqueeze(1).repeat(1, {times}, 1)", positive((times, *at.fed[0]), at.kind))


def spread(shapes: tuple[Axes, ...]) -> Axes:
    """The shape that several give together, sizes of 1 repeated.

    Raises:
        InputError: they do not fit.
    """
    rank = max(map(len, shapes))
    out = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        others = set(sizes) - {1}
        if len(others) > 1:
            raise InputError(f"joins {' and '.join('×'.join(map(str, s)) for s in shapes)}, which do not fit")
        out.append(others.pop() if others else 1)
    return tuple(out)


def _joined(at: At, how: str) -> Piece:
    count = len(at.fed)
    if count < 2:
        raise InputError(f"joins {count} input; it takes two or more")
    if how == "-" and count != 2:
        raise InputError(f"takes two inputs, and {count} come in")
    texts = [f"${i}" for i in range(count)]
    if len({len(shape) for shape in at.fed}) > 1:
        raise InputError("joins inputs of different numbers of axes")
    if how in ("maximum", "minimum"):
        text = texts[0]
        for one in texts[1:]:
            text = f"torch.{how}({text}, {one})"
    else:
        text = (f" {how} ").join(texts) if how != "average" else f"({' + '.join(texts)}) / {count}"
    return Piece(f"({text})", spread(at.fed))


def _concatenate(at: At) -> Piece:
    axis = _axis(at)
    rest = {(*shape[: axis - 1], *shape[axis:]) for shape in at.fed}
    if len(rest) > 1 or len(at.fed) < 2:
        raise InputError(f"puts {' and '.join('×'.join(map(str, s)) for s in at.fed)} side by side along axis {axis}")
    first = at.fed[0]
    out = (*first[: axis - 1], sum(shape[axis - 1] for shape in at.fed), *first[axis:])
    return Piece(f"torch.cat([{', '.join(f'${i}' for i in range(len(at.fed)))}], {axis})", positive(out, at.kind))


def _heads(at: At) -> Piece:
    """MultiHeadAttention: called with query, value and, if given, key."""
    if at.config.get("attention_axes") not in (None, [1]) and plain(at.config.get("attention_axes")) != [1]:
        raise at.wrong("attention_axes")
    if at.flag("use_gate", False) or at.config.get("sliding_window") is not None:
        raise at.wrong("use_gate" if at.flag("use_gate", False) else "sliding_window")
    if not 2 <= len(at.fed) <= 3 or any(len(shape) != 2 for shape in at.fed):
        raise InputError("takes sequences of vectors as query, value and key")
    if at.masked:
        at.notes.append(f"{at.kind} {at.name!r}: the mask of its input is left out.")
    heads, width = at.whole("num_heads"), at.whole("key_dim")
    value_width = at.whole("value_dim", width)
    query, value = at.fed[0], at.fed[1]
    key = at.fed[2] if len(at.fed) == 3 else value
    given = plain(at.config.get("output_shape"))
    given = given[0] if isinstance(given, list) and len(given) == 1 else given
    outputs = query[-1] if given is None else given
    if not isinstance(outputs, int) or not 1 <= outputs < 2**31:
        raise at.wrong("output_shape")
    bias, causal = at.flag("use_bias", True), at.flag("use_causal_mask", False)
    said = [query[-1], key[-1], value[-1], heads, width, value_width, outputs]
    options = (", causal=True" if causal else "") + (f", dropout={at.rate('dropout')!r}" if at.rate("dropout") else "")
    make = f"$me = Heads({', '.join(map(str, said))}{options}{'' if bias else ', bias=False'})"
    arrays: list[tuple[str, Axes]] = []
    flops = 2.0 * query[0] * key[0] * heads * (width + value_width)
    products: list[Product] = []
    for name, rows, inputs, wide in (
        ("query", query[0], query[-1], heads * width), ("key", key[0], key[-1], heads * width),
        ("value", value[0], value[-1], heads * value_width), ("output", query[0], heads * value_width, outputs),
    ):  # fmt: skip
        arrays += [(f"{name}_weights", (inputs, wide)), *([(f"{name}_bias", (wide,))] if bias else [])]
        more, one = linear(rows, inputs, wide)
        flops, products = flops + more, [*products, *one]
    text = f"$me($0, $1, {'$2' if len(at.fed) == 3 else '$1'})"
    return Piece(text, (query[0], outputs), (make,), tuple(arrays), ("attend", "Heads"), flops, tuple(products))


def _attention(at: At) -> Piece:
    """Attention without projections: query, value and, if given, key."""
    if at.word("score_mode", "dot", ("dot",)) != "dot" or at.flag("use_scale", False) or at.rate("dropout"):
        raise InputError("only dot products without a learned scale and without dropout are understood")
    if not 2 <= len(at.fed) <= 3 or any(len(shape) != 2 for shape in at.fed):
        raise InputError("takes sequences of vectors as query, value and key")
    key = "$2" if len(at.fed) == 3 else "$1"
    steps, width = at.fed[0]
    flops = 2.0 * steps * at.fed[1][0] * (width + at.fed[1][-1])
    text = f"F.softmax($0 @ {key}.transpose(1, 2), -1) @ $1"
    return Piece(text, (steps, at.fed[1][-1]), flops=flops)


def _rescale(at: At) -> Piece:
    return _same(at, f"($0 * {number(at.real('scale', 1.0))} + {number(at.real('offset', 0.0))})")


def _masking(at: At) -> Piece:
    value = number(at.real("mask_value", 0.0))
    return _same(at, f"$0 * ($0 != {value}).any(-1, keepdim=True)")


Translate = Callable[[At], Piece]


def _each(make: Callable[[At, int], Piece], name: str, least: int = 1, most: int = 3) -> dict[str, Translate]:
    return {name.format(d): partial(_sized, make, d) for d in range(least, most + 1)}


def _sized(make: Callable[[At, int], Piece], dimensions: int, at: At) -> Piece:
    return make(at, dimensions)


def _pool(how: str) -> Callable[[At, int], Piece]:
    return lambda at, dimensions: windows.pooling(at, dimensions, how)


def _whole(how: str) -> Callable[[At, int], Piece]:
    return lambda at, dimensions: windows.global_pooling(at, dimensions, how)


#: Class of Keras → what it becomes.
LAYERS: Final[dict[str, Translate]] = {
    "Dense": _dense,
    "Embedding": _embedding,
    "Activation": _activation,
    "ReLU": lambda at: _same(at, relu_layer(at)),
    "LeakyReLU": lambda at: _same(at, f"F.leaky_relu($0, {number(at.real('negative_slope', at.real('alpha', 0.3)))})"),
    "ELU": lambda at: _same(at, f"F.elu($0, {number(at.real('alpha', 1.0))})"),
    "PReLU": _prelu,
    "Softmax": _softmax,
    "Dropout": _dropout,
    "SpatialDropout1D": _spatial_dropout,
    "SpatialDropout2D": _spatial_dropout,
    "SpatialDropout3D": _spatial_dropout,
    "GaussianNoise": _noise,
    "GaussianDropout": lambda at: _same(
        at, f"($0 * (1 + {number(math.sqrt(at.rate('rate') / (1 - at.rate('rate'))))} * torch.randn_like($0)) "
            "if self.training else $0)"),
    "AlphaDropout": lambda at: _same(at, f"F.alpha_dropout($0, {at.rate('rate')!r}, self.training)"),
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "GroupNormalization": _group_norm,
    "RMSNormalization": _rms_norm,
    "UnitNormalization": _unit_norm,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "Permute": _permute,
    "RepeatVector": _repeat,
    "Add": lambda at: _joined(at, "+"),
    "Subtract": lambda at: _joined(at, "-"),
    "Multiply": lambda at: _joined(at, "*"),
    "Average": lambda at: _joined(at, "average"),
    "Maximum": lambda at: _joined(at, "maximum"),
    "Minimum": lambda at: _joined(at, "minimum"),
    "Concatenate": _concatenate,
    "MultiHeadAttention": _heads,
    "Attention": _attention,
    "Rescaling": _rescale,
    "Masking": _masking,
    "Identity": lambda at: _same(at, "$0"),
    "ActivityRegularization": lambda at: _same(at, "$0"),
    "LSTM": recurrence.layer,
    "GRU": recurrence.layer,
    "SimpleRNN": recurrence.layer,
    **_each(windows.convolution, "Conv{}D"),
    **_each(windows.depthwise, "DepthwiseConv{}D", most=2),
    **_each(windows.separable, "SeparableConv{}D", most=2),
    **_each(windows.transposed, "Conv{}DTranspose"),
    **_each(_pool("Max"), "MaxPooling{}D"),
    **_each(_pool("Avg"), "AveragePooling{}D"),
    **_each(_whole("amax"), "GlobalMaxPooling{}D"),
    **_each(_whole("mean"), "GlobalAveragePooling{}D"),
    **_each(windows.zero_padding, "ZeroPadding{}D"),
    **_each(windows.cropping, "Cropping{}D"),
    **_each(windows.upsampling, "UpSampling{}D"),
}  # fmt: skip

#: Layers that hand a mask on (supports_masking of Keras); others take it off.
MASK_PASSES: Final = frozenset(
    ["Activation", "ReLU", "LeakyReLU", "ELU", "PReLU", "Softmax", "Dropout", "SpatialDropout1D", "GaussianNoise",
     "GaussianDropout", "AlphaDropout", "BatchNormalization", "LayerNormalization", "GroupNormalization", "RMSNormalization",
     "Dense", "Identity", "ActivityRegularization", "LSTM", "GRU", "SimpleRNN", "MultiHeadAttention"]
)  # fmt: skip
