"""MATLAB's layer functions by name: how many arguments come before names and values, and what builds the layer.

A layer that is not here is named, not guessed.
"""

from __future__ import annotations

from typing import NamedTuple

from breakeven.models.kinds import Flatten, GlobalPooling, Identity, Merge, Positions
from breakeven.models.matlab.arguments import Arguments
from breakeven.models.matlab.layer_builders import (
    Builder,
    activation,
    any_input,
    attention,
    concatenation,
    convolution,
    cross_channel,
    dense,
    dropout,
    embedding,
    features,
    function,
    image,
    inputs,
    merge,
    norm,
    plain,
    pooling,
    position_embedding,
    recurrent,
    self_attention,
    sequence,
)
from breakeven.models.matlab.values import Made


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


_NORMS = (
    "Offset",
    "Scale",
    "TrainedMean",
    "TrainedVariance",
    "OffsetInitializer",
    "ScaleInitializer",
    "MeanDecay",
    "VarianceDecay",
)


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
    ports = tuple(f"in{n + 1}" for n in range(inputs(arguments))) if isinstance(kind, Merge) else call.ports
    return Made(kind, given or "", call.family, arguments.place, call.loss, ports)


_WEIGHTS = ("Weights", "Bias")
_STATES = ("InputWeights", "RecurrentWeights", "Bias", "HiddenState", "CellState")
_IMAGES = (
    "NormalizationDimension",
    "Mean",
    "StandardDeviation",
    "Min",
    "Max",
    "DataAugmentation",
    "SplitComplexInputs",
    "MinLength",
)
_CLASSES = ("Classes", "ClassWeights", "ClassNames")
_QKV = ("query", "key", "value")
_FORMATS = ("Formattable", "Acceleratable", "Description", "NumInputs")

#: Function → how it makes its layer.
LAYERS: dict[str, LayerCall] = {
    "imageInputLayer": LayerCall(1, "imageinput", image(2), _IMAGES),
    "image3dInputLayer": LayerCall(1, "image3dinput", image(3), _IMAGES),
    "sequenceInputLayer": LayerCall(1, "sequenceinput", sequence, _IMAGES),
    "featureInputLayer": LayerCall(1, "featureinput", features, _IMAGES),
    "inputLayer": LayerCall(2, "input", any_input),
    "convolution1dLayer": LayerCall(2, "conv1d", convolution(1), _WEIGHTS),
    "convolution2dLayer": LayerCall(2, "conv", convolution(2), _WEIGHTS),
    "convolution3dLayer": LayerCall(2, "conv3d", convolution(3), _WEIGHTS),
    "groupedConvolution2dLayer": LayerCall(3, "groupedconv", convolution(2, grouped=True), _WEIGHTS),
    "transposedConv1dLayer": LayerCall(2, "transposed-conv1d", convolution(1, transposed=True), _WEIGHTS),
    "transposedConv2dLayer": LayerCall(2, "transposed-conv", convolution(2, transposed=True), _WEIGHTS),
    "transposedConv3dLayer": LayerCall(2, "transposed-conv3d", convolution(3, transposed=True), _WEIGHTS),
    "maxPooling1dLayer": LayerCall(1, "maxpool1d", pooling(1, "max")),
    "maxPooling2dLayer": LayerCall(1, "maxpool", pooling(2, "max")),
    "maxPooling3dLayer": LayerCall(1, "maxpool3d", pooling(3, "max")),
    "averagePooling1dLayer": LayerCall(1, "avgpool1d", pooling(1, "average")),
    "averagePooling2dLayer": LayerCall(1, "avgpool2d", pooling(2, "average")),
    "averagePooling3dLayer": LayerCall(1, "avgpool3d", pooling(3, "average")),
    "globalMaxPooling1dLayer": LayerCall(0, "gmpool1d", plain(GlobalPooling("max", "either"))),
    "globalMaxPooling2dLayer": LayerCall(0, "gmpool", plain(GlobalPooling("max"))),
    "globalMaxPooling3dLayer": LayerCall(0, "gmpool3d", plain(GlobalPooling("max"))),
    "globalAveragePooling1dLayer": LayerCall(0, "gapool1d", plain(GlobalPooling("average", "either"))),
    "globalAveragePooling2dLayer": LayerCall(0, "gapool", plain(GlobalPooling("average"))),
    "globalAveragePooling3dLayer": LayerCall(0, "gapool3d", plain(GlobalPooling("average"))),
    "batchNormalizationLayer": LayerCall(0, "batchnorm", norm("batch"), _NORMS),
    "layerNormalizationLayer": LayerCall(0, "layernorm", norm("layer"), _NORMS),
    "instanceNormalizationLayer": LayerCall(0, "instancenorm", norm("instance"), _NORMS),
    "groupNormalizationLayer": LayerCall(1, "groupnorm", norm("group"), _NORMS),
    "crossChannelNormalizationLayer": LayerCall(1, "crossnorm", cross_channel),
    "lstmLayer": LayerCall(1, "lstm", recurrent("lstm"), _STATES),
    "bilstmLayer": LayerCall(1, "biLSTM", recurrent("lstm", bidirectional=True), _STATES),
    "gruLayer": LayerCall(1, "gru", recurrent("gru"), _STATES),
    "selfAttentionLayer": LayerCall(
        2, "selfattention", self_attention, ("QueryWeights", "KeyWeights", "ValueWeights", "OutputWeights")
    ),
    "attentionLayer": LayerCall(1, "attention", attention, ports=_QKV),
    "positionEmbeddingLayer": LayerCall(2, "posembed", position_embedding, ("Weights", "WeightsInitializer")),
    "sinusoidalPositionEncodingLayer": LayerCall(1, "sinposenc", lambda a: Positions(a.whole(0, "the output size"))),
    "fullyConnectedLayer": LayerCall(1, "fc", dense, _WEIGHTS),
    "wordEmbeddingLayer": LayerCall(2, "word-embedding", embedding, ("Weights", "Vocabulary", "WeightsInitializer", "OOVMode")),
    "reluLayer": LayerCall(0, "relu", activation("relu")),
    "leakyReluLayer": LayerCall(1, "leakyrelu", activation("leaky_relu", 0.01)),
    "clippedReluLayer": LayerCall(1, "clippedrelu", activation("clipped_relu")),
    "eluLayer": LayerCall(1, "elu", activation("elu", 1.0)),
    "geluLayer": LayerCall(0, "gelu", activation("gelu"), ("Approximation",)),
    "tanhLayer": LayerCall(0, "tanh", activation("tanh")),
    "sigmoidLayer": LayerCall(0, "sigmoid", activation("sigmoid")),
    "swishLayer": LayerCall(0, "swish", activation("swish")),
    "softplusLayer": LayerCall(0, "softplus", activation("softplus")),
    "preluLayer": LayerCall(0, "prelu", activation("prelu"), ("Alpha", "AlphaInitializer")),
    "softmaxLayer": LayerCall(0, "softmax", activation("softmax")),
    "functionLayer": LayerCall(1, "layer", function, _FORMATS),
    "dropoutLayer": LayerCall(1, "dropout", dropout(channels=False)),
    "spatialDropoutLayer": LayerCall(1, "spatial-dropout", dropout(channels=True)),
    "flattenLayer": LayerCall(0, "flatten", plain(Flatten())),
    "identityLayer": LayerCall(0, "identity", plain(Identity())),
    "sequenceFoldingLayer": LayerCall(0, "seqfold", plain(Identity())),
    "sequenceUnfoldingLayer": LayerCall(0, "sequnfold", plain(Identity())),
    "additionLayer": LayerCall(1, "addition", merge("add")),
    "multiplicationLayer": LayerCall(1, "multiplication", merge("multiply")),
    "depthConcatenationLayer": LayerCall(1, "depthcat", merge("concatenate")),
    "concatenationLayer": LayerCall(2, "concat", concatenation),
    "classificationLayer": LayerCall(0, "classoutput", None, _CLASSES, "cross_entropy"),
    "pixelClassificationLayer": LayerCall(0, "pixelclassoutput", None, _CLASSES, "cross_entropy"),
    "regressionLayer": LayerCall(0, "regressionoutput", None, ("ResponseNames",), "half_squares"),
}
