"""Kinds of layers from the arguments of MATLAB's layer functions.

Defaults are those of the pages of Deep Learning Toolbox (a stride of 1 for pooling too, `OutputMode` sequence, glorot weights,
orthogonal recurrent weights, a bias of the forget gate of 1, epsilon 1e-5). A layer that is not here is named, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from breakeven.models.kinds import (
    Activation,
    Attention,
    Convolution,
    Dense,
    Dropout,
    Embedding,
    Input,
    Kind,
    LocalNormalization,
    Merge,
    Normalization,
    Padding,
    Pooling,
    Positions,
    Recurrent,
)  # fmt: skip
from breakeven.models.matlab.arguments import Arguments
from breakeven.models.matlab.values import Handle

Builder = Callable[[Arguments], Kind]

_STARTS = ("glorot", "he", "narrow-normal", "zeros", "ones", "orthogonal")


#: Layers that one layer may join.
_MOST_INPUTS = 1000


def inputs(a: Arguments) -> int:
    """How many inputs a joining layer has: its last position."""
    number = a.whole(len(a.values) - 1, "the number of inputs")
    if number > _MOST_INPUTS:
        raise a.wrong(f"{number} inputs: at most {_MOST_INPUTS} are understood")
    return number


def _start(a: Arguments, name: str, default: str) -> str:
    value = a.option(name)
    if isinstance(value, Handle):
        raise a.wrong(f"{name} is a function of its own, which is not run")
    return (
        default if value is None else a.choice(value, name, _STARTS + (("unit-forget-gate",) if name.startswith("Bias") else ()))
    )


def _bias_start(a: Arguments) -> None:
    _start(a, "BiasInitializer", "zeros")


def _padding(a: Arguments, dims: int, option: str = "Padding") -> tuple[Padding, bool]:
    """Padding (before, after) along each dimension, and whether it is causal."""
    value = a.option(option)
    if value is None:
        return ((0, 0),) * dims, False
    if isinstance(value, str):
        said = a.choice(value, option, ("same", "causal") if dims == 1 and option == "Padding" else ("same",))
        return ("same", False) if said == "same" else (((0, 0),), True)
    if isinstance(value, np.ndarray) and value.shape == (2, dims) and dims == 3:
        both = [a.sizes(value[row].reshape(1, -1), option, dims, least=0) for row in (0, 1)]
        return tuple(zip(both[0], both[1], strict=True)), False
    if isinstance(value, np.ndarray) and value.size == 2 * dims:
        flat = a.sizes(value, option, least=0)
        return tuple((flat[2 * d], flat[2 * d + 1]) for d in range(dims)), False
    each = a.sizes(value, option, dims, least=0)
    return tuple((n, n) for n in each), False


def convolution(dims: int, *, grouped: bool = False, transposed: bool = False) -> Builder:
    """convolution1dLayer to convolution3dLayer, their grouped and transposed forms."""

    def build(a: Arguments) -> Kind:
        window = a.sizes(a.value(0, "the filter's size"), "the filter's size", dims)
        filters, groups = a.whole(1, "the number of filters"), 1
        if grouped:
            said = a.value(2, "the number of groups")
            if isinstance(said, str):
                a.choice(said, "the number of groups", ("channel-wise",))
                groups = 0
            else:
                groups = a.a_whole(said, "the number of groups")
                filters *= groups
        padding, causal = _padding(a, dims, "Cropping" if transposed else "Padding")
        if a.option("PaddingValue") not in (None, 0.0):
            raise a.wrong("a PaddingValue other than 0 is not understood")
        weights = _start(a, "WeightsInitializer", "glorot")
        _bias_start(a)
        if (channels := a.option("NumChannels")) is not None and not isinstance(channels, str):
            a.a_whole(channels, "NumChannels")
        return Convolution(
            filters, window, a.option_sizes("Stride", dims, 1),
            (1,) * dims if transposed else a.option_sizes("DilationFactor", dims, 1), padding,
            "either" if dims == 1 else "space", groups or None, True, transposed, causal, weights,
        )  # fmt: skip

    return build


def pooling(dims: int, how: Any) -> Builder:  # Any: one of the literal's words
    """Pooling over windows."""

    def build(a: Arguments) -> Kind:
        window = a.sizes(a.value(0, "the pool's size"), "the pool's size", dims)
        padding, _ = _padding(a, dims)
        if a.option("PaddingValue") not in (None, 0.0):
            raise a.wrong("a PaddingValue other than 0 is not understood")
        if a.option("HasUnpoolingOutputs") not in (None, 0.0):
            raise a.wrong("HasUnpoolingOutputs is not understood")
        return Pooling(how, window, a.option_sizes("Stride", dims, 1), padding, "either" if dims == 1 else "space")

    return build


def recurrent(cell: Any, bidirectional: bool = False) -> Builder:  # Any: one of the literal's words
    """lstmLayer, bilstmLayer, gruLayer."""

    def build(a: Arguments) -> Kind:
        modes = ("sequence", "last")
        resets = ("after-multiplication", "before-multiplication", "recurrent-bias-after-multiplication")
        reset = a.text("ResetGateMode", resets[0], resets) if cell == "gru" else resets[0]
        if a.option("HasStateInputs") not in (None, 0.0) or a.option("HasStateOutputs") not in (None, 0.0):
            raise a.wrong("states as inputs or outputs are not understood")
        return Recurrent(
            cell, a.whole(0, "the number of hidden units"), a.text("OutputMode", "sequence", modes), bidirectional,  # type: ignore[arg-type]  # `text` gives one of the literal's words
            2 if reset == resets[2] else 1,
            a.text("StateActivationFunction", "tanh", ("tanh", "softsign", "relu")),  # type: ignore[arg-type]  # the same
            a.text("GateActivationFunction", "sigmoid", ("sigmoid", "hard-sigmoid")),  # type: ignore[arg-type]  # the same
            reset != resets[1], _start(a, "InputWeightsInitializer", "glorot"),
            _start(a, "RecurrentWeightsInitializer", "orthogonal"),
            _start(a, "BiasInitializer", "unit-forget-gate" if cell == "lstm" else "zeros"),
        )  # fmt: skip

    return build


def dense(a: Arguments) -> Kind:
    """fullyConnectedLayer."""
    units = a.whole(0, "the output size")
    weights = _start(a, "WeightsInitializer", "glorot")
    _bias_start(a)
    return Dense(units, True, weights)


def self_attention(a: Arguments) -> Kind:
    """selfAttentionLayer."""
    heads, keys = a.whole(0, "the number of heads"), a.whole(1, "the number of key channels")
    sizes: dict[str, int | None] = {}
    for name in ("NumValueChannels", "OutputSize"):
        value = a.option(name)
        sizes[name] = None if value is None or value == "auto" else a.a_whole(value, name)
    _refused_mask(a)
    causal = a.text("AttentionMask", "none", ("none", "causal")) == "causal"
    _start(a, "WeightsInitializer", "glorot")
    _bias_start(a)
    return Attention(
        heads, keys, sizes["NumValueChannels"], sizes["OutputSize"], causal, dropout=a.number("DropoutProbability", 0.0)
    )  # fmt: skip


def attention(a: Arguments) -> Kind:
    """attentionLayer: queries, keys and values come in, and there are no projections."""
    heads = a.whole(0, "the number of heads")
    _refused_mask(a)
    causal = a.text("AttentionMask", "none", ("none", "causal")) == "causal"
    if a.option("Scale") not in (None, "auto"):
        raise a.wrong("a Scale of its own is not understood")
    return Attention(heads, heads, causal=causal, projected=False, dropout=a.number("DropoutProbability", 0.0))


def _refused_mask(a: Arguments) -> None:
    for name in ("HasPaddingMaskInput", "HasScoresOutput"):
        if a.option(name) not in (None, 0.0):
            raise a.wrong(f"{name} is not understood")


def norm(over: Any) -> Builder:  # Any: one of the literal's words
    """Normalisation over a batch, a layer, an instance, groups."""

    def build(a: Arguments) -> Kind:
        groups: int | None = 1
        if over == "group":
            said = a.value(0, "the number of groups")
            if isinstance(said, str):
                groups = None if a.choice(said, "the number of groups", ("all-channels", "channel-wise")) == "channel-wise" else 1
            else:
                groups = a.a_whole(said, "the number of groups")
        if over == "layer":
            a.text("OperationDimension", "auto", ("auto", "channel-only", "spatial-channel"))
        return Normalization(over, a.number("Epsilon", 1e-5), groups)

    return build


def cross_channel(a: Arguments) -> Kind:
    """crossChannelNormalizationLayer."""
    window = a.whole(0, "the window")
    return LocalNormalization(window, a.number("Alpha", 1e-4), a.number("Beta", 0.75), a.number("K", 2.0))


def activation(function: Any, default: float | None = None) -> Builder:  # Any: one of the literal's words
    """A function of each element, or softmax; `default` is its parameter where it may be left out."""

    def build(a: Arguments) -> Kind:
        if function == "clipped_relu":
            return Activation(function, a.a_number(a.value(0, "the ceiling"), "the ceiling"))
        if a.has(0) and default is not None:
            return Activation(function, a.a_number(a.value(0, "its parameter"), "its parameter"))
        return Activation(function, default)

    return build


def dropout(channels: bool) -> Builder:
    """dropoutLayer, or spatialDropoutLayer."""

    def build(a: Arguments) -> Kind:
        probability = a.a_number(a.value(0, "the probability"), "the probability") if a.has(0) else 0.5
        if not 0 <= probability < 1:
            raise a.wrong(f"a probability of {probability:g} cannot be")
        return Dropout(probability, channels)

    return build


def image(dims: int) -> Builder:
    """imageInputLayer, image3dInputLayer."""

    def build(a: Arguments) -> Kind:
        size = a.sizes(a.value(0, "the input size"), "the input size")
        if len(size) == dims and dims == 2:
            size = (*size, 1)
        if len(size) != dims + 1:
            raise a.wrong(f"an input size of {dims + 1} numbers is understood")
        return Input(size[-1], size[:-1], False, None, *_normalised(a, "zerocenter"))

    return build


def sequence(a: Arguments) -> Kind:
    """sequenceInputLayer."""
    size = a.sizes(a.value(0, "the input size"), "the input size")
    return Input(size[-1], size[:-1], True, None, *_normalised(a, "none"))


def features(a: Arguments) -> Kind:
    """featureInputLayer."""
    return Input(a.whole(0, "the number of features"), (), False, None, *_normalised(a, "none"))


def _normalised(a: Arguments, default: str) -> tuple[bool, bool]:
    value = a.option("Normalization")
    if isinstance(value, Handle):
        raise a.wrong("a Normalization by a function of its own is not understood")
    names = ("none", "zerocenter", "zscore", "rescale-symmetric", "rescale-zero-one")
    how = default if value is None else a.choice(value, "Normalization", names)
    return how != "none", how not in ("none", "zerocenter")


def any_input(a: Arguments) -> Kind:
    """`inputLayer(size, format)`: the letters say which size is space (S), channels (C), batch (B), time (T)."""
    letters = a.value(1, "the format")
    value = a.value(0, "the input size")
    sizes = [s if np.isfinite(s) else -1 for s in np.atleast_1d(np.asarray(value, dtype=float)).reshape(-1)] if isinstance(
        value, float | np.ndarray) else []  # fmt: skip
    if not isinstance(letters, str) or not sizes or len(sizes) != len(letters) or set(letters) - set("SCBT"):
        raise a.wrong("a size and as many letters of SCBT as its format are understood")
    pairs = list(zip(letters, sizes, strict=True))
    spatial = tuple(a.a_whole(float(n), "a size of space") for letter, n in pairs if letter == "S")
    channels = [a.a_whole(float(n), "the channels") for letter, n in pairs if letter == "C"]
    if len(channels) != 1:
        raise a.wrong("one letter C is understood")
    return Input(channels[0], spatial, "T" in letters)


def embedding(a: Arguments) -> Kind:
    """wordEmbeddingLayer: its table has a further row for words that are not in it."""
    width, rows = a.whole(0, "the dimension"), a.whole(1, "the number of words")
    return Embedding(rows, width, spare=True)


def position_embedding(a: Arguments) -> Kind:
    """positionEmbeddingLayer."""
    return Positions(a.whole(0, "the output size"), a.whole(1, "the number of positions"))


def concatenation(a: Arguments) -> Kind:
    """concatenationLayer, along a dimension as MATLAB counts them."""
    at = a.whole(0, "the dimension")
    inputs(a)
    return Merge("concatenate", at - 1)  # of MATLAB's dimensions: `read.py` works out which of them are space


def merge(how: Any) -> Builder:  # Any: one of the literal's words
    """additionLayer, multiplicationLayer, depthConcatenationLayer."""

    def build(a: Arguments) -> Kind:
        inputs(a)
        return Merge(how)

    return build


_HANDLES = {
    "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "gelu": "gelu", "softmax": "softmax", "softplus": "softplus",
}  # fmt: skip


def function(a: Arguments) -> Kind:
    """functionLayer of a function whose name says what it does."""
    handle = a.value(0, "the function")
    if isinstance(handle, Handle) and handle.call is None and handle.name in _HANDLES:
        return Activation(_HANDLES[handle.name])  # type: ignore[arg-type]  # the table's words are the literal's
    raise a.wrong("a function of one's own is not run; relu, tanh, sigmoid, gelu, softmax and softplus are understood")


def plain(kind: Kind) -> Builder:
    """A layer that takes no arguments."""
    return lambda a: kind
