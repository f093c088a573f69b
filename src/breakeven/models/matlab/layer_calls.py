"""MATLAB's layer functions: their positions, options and defaults, into kinds of layers.

Defaults are those of the pages of Deep Learning Toolbox (a stride of 1 for pooling too, `OutputMode` sequence, glorot weights,
orthogonal recurrent weights, a bias of the forget gate of 1, epsilon 1e-5). A layer that is not here is named, not guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from breakeven.models.kinds import (
    Activation, Attention, Convolution, Dense, Dropout, Embedding, Flatten, GlobalPooling, Identity, Input, Kind,
    LocalNormalization, Merge, Normalization, Padding, Pooling, Positions, Recurrent,
)  # fmt: skip
from breakeven.models.matlab.arguments import Arguments
from breakeven.models.matlab.values import Handle, Made, Sized

Builder = Callable[[Arguments], Kind]


class LayerCall(NamedTuple):
    """How one function makes its layer.

    Attributes:
        positions: arguments that come before names and values.
        family: how MATLAB names such a layer.
        build: the kind from the arguments; None: an output layer.
        harmless: options without an effect on a step's time.
        loss: of an output layer.
        ports: names of the inputs where there are several.
    """

    positions: int
    family: str
    build: Builder | None
    harmless: tuple[str, ...] = ()
    loss: str = ""
    ports: tuple[str, ...] = ()


_STARTS = ("glorot", "he", "narrow-normal", "zeros", "ones", "orthogonal")
_NORMS = ("Offset", "Scale", "TrainedMean", "TrainedVariance", "OffsetInitializer", "ScaleInitializer", "MeanDecay", "VarianceDecay")


def made(name: str, arguments: Arguments) -> Made:
    """The layer that a call of one of `LAYERS` makes.

    Raises:
        InputError: an argument is missing, wrong or not understood.
    """
    call = LAYERS[name]
    given = arguments.option("Name")
    if given is not None and not isinstance(given, str):
        raise arguments.wrong("Name has to be a text")
    kind = call.build(arguments) if call.build is not None else None
    arguments.done(call.harmless)
    ports = tuple(f"in{n + 1}" for n in range(_inputs(arguments))) if isinstance(kind, Merge) else call.ports
    return Made(kind, given or "", call.family, arguments.place, call.loss, ports)


def _inputs(a: Arguments) -> int:
    return a.whole(len(a.values) - 1, "the number of inputs")


def _start(a: Arguments, name: str, default: str) -> str:
    value = a.option(name)
    if isinstance(value, Handle):
        raise a.wrong(f"{name} is a function of its own, which is not run")
    return default if value is None else a.choice(value, name, _STARTS + (("unit-forget-gate",) if name.startswith("Bias") else ()))


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


def _convolution(dims: int, *, grouped: bool = False, transposed: bool = False) -> Builder:
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


def _pooling(dims: int, how: Any) -> Builder:  # Any: one of the literal's words
    def build(a: Arguments) -> Kind:
        window = a.sizes(a.value(0, "the pool's size"), "the pool's size", dims)
        padding, _ = _padding(a, dims)
        if a.option("PaddingValue") not in (None, 0.0):
            raise a.wrong("a PaddingValue other than 0 is not understood")
        if a.option("HasUnpoolingOutputs") not in (None, 0.0):
            raise a.wrong("HasUnpoolingOutputs is not understood")
        return Pooling(how, window, a.option_sizes("Stride", dims, 1), padding, "either" if dims == 1 else "space")

    return build


def _recurrent(cell: Any, bidirectional: bool = False) -> Builder:  # Any: one of the literal's words
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


def _dense(a: Arguments) -> Kind:
    units = a.whole(0, "the output size")
    weights = _start(a, "WeightsInitializer", "glorot")
    _bias_start(a)
    return Dense(units, True, weights)


def _self_attention(a: Arguments) -> Kind:
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


def _attention(a: Arguments) -> Kind:
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


def _norm(over: Any) -> Builder:  # Any: one of the literal's words
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


def _cross_channel(a: Arguments) -> Kind:
    window = a.whole(0, "the window")
    return LocalNormalization(window, a.number("Alpha", 1e-4), a.number("Beta", 0.75), a.number("K", 2.0))


def _activation(function: Any, default: float | None = None) -> Builder:  # Any: one of the literal's words
    def build(a: Arguments) -> Kind:
        if function == "clipped_relu":
            return Activation(function, a.a_number(a.value(0, "the ceiling"), "the ceiling"))
        if a.has(0) and default is not None:
            return Activation(function, a.a_number(a.value(0, "its parameter"), "its parameter"))
        return Activation(function, default)

    return build


def _dropout(channels: bool) -> Builder:
    def build(a: Arguments) -> Kind:
        probability = a.a_number(a.value(0, "the probability"), "the probability") if a.has(0) else 0.5
        if not 0 <= probability < 1:
            raise a.wrong(f"a probability of {probability:g} cannot be")
        return Dropout(probability, channels)

    return build


def _image(dims: int) -> Builder:
    def build(a: Arguments) -> Kind:
        size = a.sizes(a.value(0, "the input size"), "the input size")
        if len(size) == dims and dims == 2:
            size = (*size, 1)
        if len(size) != dims + 1:
            raise a.wrong(f"an input size of {dims + 1} numbers is understood")
        return Input(size[-1], size[:-1], False, None, *_normalised(a, "zerocenter"))

    return build


def _sequence(a: Arguments) -> Kind:
    size = a.sizes(a.value(0, "the input size"), "the input size")
    return Input(size[-1], size[:-1], True, None, *_normalised(a, "none"))


def _features(a: Arguments) -> Kind:
    return Input(a.whole(0, "the number of features"), (), False, None, *_normalised(a, "none"))


def _normalised(a: Arguments, default: str) -> tuple[bool, bool]:
    value = a.option("Normalization")
    if isinstance(value, Handle):
        raise a.wrong("a Normalization by a function of its own is not understood")
    names = ("none", "zerocenter", "zscore", "rescale-symmetric", "rescale-zero-one")
    how = default if value is None else a.choice(value, "Normalization", names)
    return how != "none", how not in ("none", "zerocenter")


def _any_input(a: Arguments) -> Kind:
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


def _embedding(a: Arguments) -> Kind:
    width, rows = a.whole(0, "the dimension"), a.whole(1, "the number of words")
    return Embedding(rows, width, spare=True)


def _position_embedding(a: Arguments) -> Kind:
    return Positions(a.whole(0, "the output size"), a.whole(1, "the number of positions"))


def _concatenation(a: Arguments) -> Kind:
    at = a.whole(0, "the dimension")
    _inputs(a)
    return Merge("concatenate", at - 1)  # of MATLAB's dimensions: `graph.py` knows which of them are space


def _merge(how: Any) -> Builder:  # Any: one of the literal's words
    def build(a: Arguments) -> Kind:
        _inputs(a)
        return Merge(how)

    return build


_HANDLES = {
    "relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "gelu": "gelu", "softmax": "softmax", "softplus": "softplus",
}  # fmt: skip


def _function(a: Arguments) -> Kind:
    handle = a.value(0, "the function")
    if isinstance(handle, Handle) and handle.call is None and handle.name in _HANDLES:
        return Activation(_HANDLES[handle.name])  # type: ignore[arg-type]  # the table's words are the literal's
    raise a.wrong("a function of one's own is not run; relu, tanh, sigmoid, gelu, softmax and softplus are understood")


def _plain(kind: Kind) -> Builder:
    return lambda a: kind


_WEIGHTS = ("Weights", "Bias")
_STATES = ("InputWeights", "RecurrentWeights", "Bias", "HiddenState", "CellState")
_IMAGES = ("NormalizationDimension", "Mean", "StandardDeviation", "Min", "Max", "DataAugmentation", "SplitComplexInputs", "MinLength")
_CLASSES = ("Classes", "ClassWeights", "ClassNames")
_QKV = ("query", "key", "value")
_FORMATS = ("Formattable", "Acceleratable", "Description", "NumInputs")

#: Function → how it makes its layer.
LAYERS: dict[str, LayerCall] = {
    "imageInputLayer": LayerCall(1, "imageinput", _image(2), _IMAGES),
    "image3dInputLayer": LayerCall(1, "image3dinput", _image(3), _IMAGES),
    "sequenceInputLayer": LayerCall(1, "sequenceinput", _sequence, _IMAGES),
    "featureInputLayer": LayerCall(1, "featureinput", _features, _IMAGES),
    "inputLayer": LayerCall(2, "input", _any_input),
    "convolution1dLayer": LayerCall(2, "conv1d", _convolution(1), _WEIGHTS),
    "convolution2dLayer": LayerCall(2, "conv", _convolution(2), _WEIGHTS),
    "convolution3dLayer": LayerCall(2, "conv3d", _convolution(3), _WEIGHTS),
    "groupedConvolution2dLayer": LayerCall(3, "groupedconv", _convolution(2, grouped=True), _WEIGHTS),
    "transposedConv1dLayer": LayerCall(2, "transposed-conv1d", _convolution(1, transposed=True), _WEIGHTS),
    "transposedConv2dLayer": LayerCall(2, "transposed-conv", _convolution(2, transposed=True), _WEIGHTS),
    "transposedConv3dLayer": LayerCall(2, "transposed-conv3d", _convolution(3, transposed=True), _WEIGHTS),
    "maxPooling1dLayer": LayerCall(1, "maxpool1d", _pooling(1, "max")),
    "maxPooling2dLayer": LayerCall(1, "maxpool", _pooling(2, "max")),
    "maxPooling3dLayer": LayerCall(1, "maxpool3d", _pooling(3, "max")),
    "averagePooling1dLayer": LayerCall(1, "avgpool1d", _pooling(1, "average")),
    "averagePooling2dLayer": LayerCall(1, "avgpool2d", _pooling(2, "average")),
    "averagePooling3dLayer": LayerCall(1, "avgpool3d", _pooling(3, "average")),
    "globalMaxPooling1dLayer": LayerCall(0, "gmpool1d", _plain(GlobalPooling("max", "either"))),
    "globalMaxPooling2dLayer": LayerCall(0, "gmpool", _plain(GlobalPooling("max"))),
    "globalMaxPooling3dLayer": LayerCall(0, "gmpool3d", _plain(GlobalPooling("max"))),
    "globalAveragePooling1dLayer": LayerCall(0, "gapool1d", _plain(GlobalPooling("average", "either"))),
    "globalAveragePooling2dLayer": LayerCall(0, "gapool", _plain(GlobalPooling("average"))),
    "globalAveragePooling3dLayer": LayerCall(0, "gapool3d", _plain(GlobalPooling("average"))),
    "batchNormalizationLayer": LayerCall(0, "batchnorm", _norm("batch"), _NORMS),
    "layerNormalizationLayer": LayerCall(0, "layernorm", _norm("layer"), _NORMS),
    "instanceNormalizationLayer": LayerCall(0, "instancenorm", _norm("instance"), _NORMS),
    "groupNormalizationLayer": LayerCall(1, "groupnorm", _norm("group"), _NORMS),
    "crossChannelNormalizationLayer": LayerCall(1, "crossnorm", _cross_channel),
    "lstmLayer": LayerCall(1, "lstm", _recurrent("lstm"), _STATES),
    "bilstmLayer": LayerCall(1, "biLSTM", _recurrent("lstm", bidirectional=True), _STATES),
    "gruLayer": LayerCall(1, "gru", _recurrent("gru"), _STATES),
    "selfAttentionLayer": LayerCall(2, "selfattention", _self_attention, ("QueryWeights", "KeyWeights", "ValueWeights", "OutputWeights")),
    "attentionLayer": LayerCall(1, "attention", _attention, ports=_QKV),
    "positionEmbeddingLayer": LayerCall(2, "posembed", _position_embedding, ("Weights", "WeightsInitializer")),
    "sinusoidalPositionEncodingLayer": LayerCall(1, "sinposenc", lambda a: Positions(a.whole(0, "the output size"))),
    "fullyConnectedLayer": LayerCall(1, "fc", _dense, _WEIGHTS),
    "wordEmbeddingLayer": LayerCall(2, "word-embedding", _embedding, ("Weights", "Vocabulary", "WeightsInitializer", "OOVMode")),
    "reluLayer": LayerCall(0, "relu", _activation("relu")),
    "leakyReluLayer": LayerCall(1, "leakyrelu", _activation("leaky_relu", 0.01)),
    "clippedReluLayer": LayerCall(1, "clippedrelu", _activation("clipped_relu")),
    "eluLayer": LayerCall(1, "elu", _activation("elu", 1.0)),
    "geluLayer": LayerCall(0, "gelu", _activation("gelu"), ("Approximation",)),
    "tanhLayer": LayerCall(0, "tanh", _activation("tanh")),
    "sigmoidLayer": LayerCall(0, "sigmoid", _activation("sigmoid")),
    "swishLayer": LayerCall(0, "swish", _activation("swish")),
    "softplusLayer": LayerCall(0, "softplus", _activation("softplus")),
    "preluLayer": LayerCall(0, "prelu", _activation("prelu"), ("Alpha", "AlphaInitializer")),
    "softmaxLayer": LayerCall(0, "softmax", _activation("softmax")),
    "functionLayer": LayerCall(1, "layer", _function, _FORMATS),
    "dropoutLayer": LayerCall(1, "dropout", _dropout(channels=False)),
    "spatialDropoutLayer": LayerCall(1, "spatial-dropout", _dropout(channels=True)),
    "flattenLayer": LayerCall(0, "flatten", _plain(Flatten())),
    "identityLayer": LayerCall(0, "identity", _plain(Identity())),
    "sequenceFoldingLayer": LayerCall(0, "seqfold", _plain(Identity())),
    "sequenceUnfoldingLayer": LayerCall(0, "sequnfold", _plain(Identity())),
    "additionLayer": LayerCall(1, "addition", _merge("add")),
    "multiplicationLayer": LayerCall(1, "multiplication", _merge("multiply")),
    "depthConcatenationLayer": LayerCall(1, "depthcat", _merge("concatenate")),
    "concatenationLayer": LayerCall(2, "concat", _concatenation),
    "classificationLayer": LayerCall(0, "classoutput", None, _CLASSES, "cross_entropy"),
    "pixelClassificationLayer": LayerCall(0, "pixelclassoutput", None, _CLASSES, "cross_entropy"),
    "regressionLayer": LayerCall(0, "regressionoutput", None, ("ResponseNames",), "half_squares"),
}

__all__ = ["LAYERS", "LayerCall", "Sized", "made"]
