"""How PyTorch writes each kind of layer: the lines that make it, and the expression that calls it.

Values keep their layout until a layer needs another, as a person would write it: sequences are `(batch, time, channels)` or, for
convolutions over time, `(batch, channels, time)`; images in time are folded into the batch where a layer knows no time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

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
from breakeven.models.shapes import sides, slid_over

#: Layouts of a value: as the shape says; channels before time; time folded into the batch.
PLAIN, FIRST, FOLDED = "plain", "channels first", "folded"


@dataclass(frozen=True)
class Value:
    """An expression of the forward pass, how it is laid out, and its shape."""

    text: str
    shape: Shape
    layout: str = PLAIN

    def to(self, layout: str) -> str:
        """The expression in another layout; a value without time has one only."""
        if self.shape.time is None or layout == self.layout:
            return self.text
        if self.layout == FOLDED:
            return Value(f"{self.text}.unflatten(0, (-1, {self.shape.time}))", self.shape).to(layout)
        if self.layout == FIRST:
            return Value(f"{self.text}.transpose(1, 2)", self.shape).to(layout)
        return f"{self.text}.{'flatten(0, 1)' if layout == FOLDED else 'transpose(1, 2)'}"


@dataclass(frozen=True)
class Written:
    """A layer as code.

    Attributes:
        makes: lines of `__init__`, without indent.
        calls: the expression that gives its value.
        layout: of that value.
        needs: names of the definitions (`torch_definitions.py`) that the code uses.
    """

    calls: str
    makes: tuple[str, ...] = ()
    layout: str = PLAIN
    needs: tuple[str, ...] = ()


def written(kind: Kind, name: str, fed: tuple[Value, ...]) -> Written:
    """The code of one layer; `name` is its attribute of the module."""
    if isinstance(kind, Merge):
        return _merge(kind, fed)
    if isinstance(kind, Attention):
        return _attention(kind, name, fed)
    if isinstance(kind, Computed):
        return _computed(kind, f"self.{name}", fed)
    return _OF_ONE[type(kind)](kind, f"self.{name}", fed[0])


def _computed(kind: Computed, made: str, fed: tuple[Value, ...]) -> Written:
    texts = [value.to(PLAIN) for value in fed]

    def put(text: str) -> str:
        return re.sub(r"\$(me|\d+)", lambda at: made if at[1] == "me" else texts[int(at[1])], text)

    makes = () if kind.shares is not None else tuple(put(line) for line in kind.makes)
    return Written(put(kind.calls), makes, PLAIN, kind.needs)


def spatial_layout(shape: Shape) -> str:
    """The layout in which PyTorch's layers over space take a value."""
    return FOLDED if shape.time is not None and shape.spatial else FIRST


def _numbers(sizes: tuple[int, ...]) -> str:
    return str(sizes[0]) if len(set(sizes)) == 1 else f"({', '.join(map(str, sizes))})"


def _padded(text: str, padding: tuple[tuple[int, int], ...], value: str = "") -> str:
    flat = ", ".join(f"{before}, {after}" for before, after in reversed(padding))
    return f"F.pad({text}, ({flat}){f', value={value}' if value else ''})"


def _even(padding: tuple[tuple[int, int], ...]) -> bool:
    return all(before == after for before, after in padding)


def _convolution(kind: Convolution, made: str, fed: Value) -> Written:
    size = slid_over(fed.shape, kind.over, len(kind.window))
    layout = FIRST if kind.over == "time" else spatial_layout(fed.shape)
    groups = fed.shape.channels if kind.groups is None else kind.groups
    filters = kind.filters * fed.shape.channels if kind.groups is None else kind.filters
    said = [str(fed.shape.channels), str(filters), _numbers(kind.window)]
    called = fed.to(layout)
    if set(kind.stride) != {1}:
        said.append(f"stride={_numbers(kind.stride)}")
    if kind.transposed:
        said += _cropped(kind)
    else:
        padding = sides(kind.padding, size, kind.window, kind.stride, kind.dilation, kind.causal)
        if kind.padding == "same" and set(kind.stride) == {1} and _even(padding) and not kind.causal:
            said.append('padding="same"')
        elif _even(padding) and any(before for before, _ in padding):
            said.append(f"padding={_numbers(tuple(before for before, _ in padding))}")
        elif not _even(padding):
            called = _padded(called, padding)
    said += [f"dilation={_numbers(kind.dilation)}"] if set(kind.dilation) != {1} else []
    said += [f"groups={groups}"] if groups != 1 else []
    said += [] if kind.bias else ["bias=False"]
    module = f"nn.Conv{'Transpose' if kind.transposed else ''}{len(kind.window)}d"
    return Written(
        f"{made}({called})", (f"{made} = {module}({', '.join(said)})", f'start({made}, "{kind.weights}")'), layout, ("start",)
    )


def _cropped(kind: Convolution) -> list[str]:
    """Padding of a transposed convolution. Its `same` is an output of the input times the stride."""
    if kind.padding == "same":
        totals = tuple(w - s for w, s in zip(kind.window, kind.stride, strict=True))
        padding = tuple(math.ceil(max(0, total) / 2) for total in totals)
        further = tuple(2 * p - t for p, t in zip(padding, totals, strict=True))
        return [f"padding={_numbers(padding)}", *([f"output_padding={_numbers(further)}"] if any(further) else [])]
    cropped = kind.padding
    if not any(sum(c) for c in cropped):
        return []
    padding = tuple(max(c) for c in cropped)
    further = tuple(abs(c[0] - c[1]) for c in cropped)
    return [f"padding={_numbers(padding)}", *([f"output_padding={_numbers(further)}"] if any(further) else [])]


def _pooling(kind: Pooling, made: str, fed: Value) -> Written:
    size = slid_over(fed.shape, kind.over, len(kind.window))
    layout = FIRST if kind.over == "time" else spatial_layout(fed.shape)
    padding = sides(kind.padding, size, kind.window, kind.stride, (1,) * len(size))
    called = fed.to(layout)
    said = [_numbers(kind.window), f"stride={_numbers(kind.stride)}"]
    fits = _even(padding) and all(2 * before <= w for (before, _), w in zip(padding, kind.window, strict=True))
    if fits and any(before for before, _ in padding):
        said.append(f"padding={_numbers(tuple(before for before, _ in padding))}")
    elif not fits:
        called = _padded(called, padding, '-float("inf")' if kind.how == "max" else "")
    module = f"nn.{'Max' if kind.how == 'max' else 'Avg'}Pool{len(kind.window)}d"
    return Written(f"{made}({called})", (f"{made} = {module}({', '.join(said)})",), layout)


def _global(kind: GlobalPooling, made: str, fed: Value) -> Written:
    how = "amax" if kind.how == "max" else "mean"
    if kind.over == "time":
        return Written(f"{fed.to(PLAIN)}.{how}(1)")
    layout = spatial_layout(fed.shape)
    dimensions = ", ".join(str(2 + at) for at in range(len(fed.shape.spatial)))
    return Written(f"{fed.to(layout)}.{how}(({dimensions},))", layout=layout)


def _dense(kind: Dense, made: str, fed: Value) -> Written:
    layout = fed.layout if fed.layout != FIRST else PLAIN
    text = fed.to(layout)
    if fed.shape.spatial:
        text += ".flatten(2)" if fed.shape.time is not None and layout == PLAIN else ".flatten(1)"
    wide = fed.shape.channels * math.prod(fed.shape.spatial)
    made_by = f"{made} = nn.Linear({wide}, {kind.units}{'' if kind.bias else ', bias=False'})"
    return Written(f"{made}({text})", (made_by, f'start({made}, "{kind.weights}")'), layout, ("start",))


def _embedding(kind: Embedding, made: str, fed: Value) -> Written:
    makes = (f"{made} = nn.Embedding({kind.rows + kind.spare}, {kind.width})",)
    return Written(f"{made}({fed.to(PLAIN)})", makes)


def is_fused(kind: Recurrent) -> bool:
    """Whether PyTorch has one fused call for a recurrent layer; else it becomes a loop over the time steps."""
    if kind.cell == "rnn":
        return kind.state in ("tanh", "relu")
    return kind.state == "tanh" and kind.gates == "sigmoid" and kind.reset_after


def _recurrent(kind: Recurrent, made: str, fed: Value) -> Written:
    said = [str(fed.shape.channels), str(kind.hidden)]
    said += ["bias=False"] if not kind.biases else []
    if is_fused(kind):
        said += ['nonlinearity="relu"'] if kind.cell == "rnn" and kind.state == "relu" else []
        said += ["batch_first=True", *(["bidirectional=True"] if kind.bidirectional else [])]
        module, needs = f"nn.{kind.cell.upper()}", ("start_recurrent",)
    else:
        said += [f'"{kind.cell}"', f"state={_FUNCTIONS[kind.state]}", f"gates={_FUNCTIONS[kind.gates]}"]
        said += [] if kind.reset_after else ["reset_after=False"]
        said += ["bidirectional=True"] if kind.bidirectional else []
        module, needs = "Unfused", ("start_recurrent", "Unfused")  # type: ignore[assignment]  # a longer tuple
    started = [f'"{kind.weights}"', f'"{kind.recurrent_weights}"', f'"{kind.bias}"', f"biases={kind.biases}"]
    makes = (f"{made} = {module}({', '.join(said)})", f"start_recurrent({made}, {', '.join(started)})")
    called = f"{made}({fed.to(PLAIN)})"
    if kind.output == "sequence":
        return Written(f"{called}[0]", makes, PLAIN, needs)
    if kind.bidirectional:
        return Written(f"last_of_both({called}[0])", makes, PLAIN, (*needs, "last_of_both"))
    return Written(f"{called}[0][:, -1]", makes, PLAIN, needs)


_FUNCTIONS = {
    "tanh": "torch.tanh",
    "sigmoid": "torch.sigmoid",
    "softsign": "F.softsign",
    "relu": "torch.relu",
    "hard-sigmoid": "hard_sigmoid",
}


def _attention(kind: Attention, name: str, fed: tuple[Value, ...]) -> Written:
    texts = [value.to(PLAIN) for value in fed]
    if not kind.projected:
        extra = f", {kind.heads}" + (", causal=True" if kind.causal else "") + (
            f", dropout={kind.dropout} if self.training else 0.0" if kind.dropout else "")  # fmt: skip
        return Written(f"attend({', '.join(texts)}{extra})", needs=("attend",))
    channels = fed[0].shape.channels
    said = [channels, kind.heads, kind.keys, kind.values or kind.keys, kind.output or channels]
    options = (", causal=True" if kind.causal else "") + (f", dropout={kind.dropout}" if kind.dropout else "")
    options += "" if kind.bias else ", bias=False"
    makes = (f"self.{name} = SelfAttention({', '.join(map(str, said))}{options})",)
    return Written(f"self.{name}({texts[0]})", makes, PLAIN, ("SelfAttention",))


def _normalization(kind: Normalization, made: str, fed: Value) -> Written:
    shape = fed.shape
    dimensions = len(shape.spatial) or 1
    affine = "" if kind.affine else ", affine=False"
    epsilon = "" if kind.epsilon == 1e-5 else f", eps={kind.epsilon:g}"
    if kind.over == "layer" and not shape.spatial:
        layout = PLAIN if fed.layout == FIRST else fed.layout
        plain = affine.replace("affine", "elementwise_affine")
        return Written(f"{made}({fed.to(layout)})", (f"{made} = nn.LayerNorm({shape.channels}{epsilon}{plain})",), layout)
    layout = spatial_layout(shape)
    if kind.over == "batch":
        module = f"nn.BatchNorm{dimensions}d({shape.channels}{epsilon}{affine})"
    elif kind.over == "instance":
        module = f"nn.InstanceNorm{dimensions}d({shape.channels}{epsilon}, affine={kind.affine})"
    else:
        groups = 1 if kind.over == "layer" else kind.groups or shape.channels
        module = f"nn.GroupNorm({groups}, {shape.channels}{epsilon}{affine})"
    return Written(f"{made}({fed.to(layout)})", (f"{made} = {module}",), layout)


def _local(kind: LocalNormalization, made: str, fed: Value) -> Written:
    layout = spatial_layout(fed.shape)
    module = f"nn.LocalResponseNorm({kind.window}, alpha={kind.alpha:g}, beta={kind.beta:g}, k={kind.k:g})"
    return Written(f"{made}({fed.to(layout)})", (f"{made} = {module}",), layout)


def _activation(kind: Activation, made: str, fed: Value) -> Written:
    parameter = kind.parameter
    if kind.function == "softmax":
        layout = fed.layout if fed.shape.spatial else PLAIN
        axis = 1 if layout != PLAIN or fed.shape.time is None else 2
        return Written(f"torch.softmax({fed.to(layout)}, {axis})", layout=layout)
    if kind.function == "prelu":
        layout = spatial_layout(fed.shape)
        start = 0.25 if parameter is None else parameter
        return Written(f"{made}({fed.to(layout)})", (f"{made} = nn.PReLU({fed.shape.channels}, init={start:g})",), layout)
    called = {
        "relu": "torch.relu({})", "tanh": "torch.tanh({})", "sigmoid": "torch.sigmoid({})", "gelu": "F.gelu({})",
        "swish": "F.silu({})", "softplus": "F.softplus({})", "softsign": "F.softsign({})",
        "leaky_relu": f"F.leaky_relu({{}}, {parameter})", "elu": f"F.elu({{}}, {parameter})",
        "clipped_relu": f"torch.clamp({{}}, 0, {parameter})",
    }[kind.function]  # fmt: skip
    return Written(called.format(fed.text), layout=fed.layout)


def _dropout(kind: Dropout, made: str, fed: Value) -> Written:
    if kind.channels:
        dimensions = len(fed.shape.spatial) or 1
        layout = spatial_layout(fed.shape)
        return Written(f"{made}({fed.to(layout)})", (f"{made} = nn.Dropout{dimensions}d({kind.probability:g})",), layout)
    return Written(f"{made}({fed.text})", (f"{made} = nn.Dropout({kind.probability:g})",), fed.layout)


def _flatten(kind: Flatten, made: str, fed: Value) -> Written:
    if not fed.shape.spatial:
        return Written(fed.text, layout=fed.layout)
    plain = fed.layout == PLAIN and fed.shape.time is not None
    return Written(f"{fed.text}.flatten({2 if plain else 1})", layout=fed.layout)


def _identity(kind: Identity, made: str, fed: Value) -> Written:
    return Written(fed.text, layout=fed.layout)


def _positions(kind: Positions, made: str, fed: Value) -> Written:
    steps = fed.shape.time
    text = fed.to(PLAIN)
    if kind.length is not None:
        called = f"{made}(torch.arange({steps}, device={text}.device)).expand({text}.size(0), -1, -1)"
        return Written(called, (f"{made} = nn.Embedding({kind.length}, {kind.width})",))
    name = made.removeprefix("self.")
    makes = (f'self.register_buffer("{name}", sines({steps}, {kind.width}))',)
    return Written(f"{made}.expand({text}.size(0), -1, -1)", makes, PLAIN, ("sines",))


def _merge(kind: Merge, fed: tuple[Value, ...]) -> Written:
    layout = fed[0].layout
    texts = [value.to(layout) for value in fed]
    if kind.how == "add":
        return Written(" + ".join(texts), layout=layout)
    if kind.how == "multiply":
        return Written(" * ".join(texts), layout=layout)
    axis = 1 if layout != PLAIN or fed[0].shape.time is None else 2
    return Written(f"torch.cat([{', '.join(texts)}], {axis if kind.axis is None else axis + 1 + kind.axis})", layout=layout)


def _input(kind: Input, made: str, fed: Value) -> Written:
    name = made.removeprefix("self.")
    makes, text = [], fed.text
    if kind.centred:
        makes.append(f'self.register_buffer("{name}_mean", torch.zeros(()))')
        text = f"{text} - self.{name}_mean"
    if kind.scaled:
        makes.append(f'self.register_buffer("{name}_scale", torch.ones(()))')
        text = f"({text}) / self.{name}_scale"
    return Written(text, tuple(makes))


_OF_ONE: dict[type, Callable[..., Written]] = {
    Input: _input, Convolution: _convolution, Pooling: _pooling, GlobalPooling: _global, Dense: _dense, Embedding: _embedding,
    Recurrent: _recurrent, Normalization: _normalization, LocalNormalization: _local, Activation: _activation,
    Dropout: _dropout, Flatten: _flatten, Identity: _identity, Positions: _positions,
}  # fmt: skip
