"""MATLAB's layers with what its documentation says of them: output sizes and numbers of learnable parameters.

Figures are written out from the formulae of each layer's page (Deep Learning Toolbox): a convolution learns
`filterSize * channels / groups * filters + filters`, its output is `floor((in + padding - dilated filter) / stride) + 1`, with
'same' `ceil(in / stride)`; an LSTM learns `4H(C + H + 1)`, a bilstm twice that, a GRU `3H(C + H + 1)`, and with
recurrent-bias-after-multiplication `3H(C + H + 2)`; a transposed convolution gives `(in - 1) * stride + filter - cropping`.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """What goes in, the layer, what comes out (space, channels, time), how much it learns."""

    given: str
    layer: str
    spatial: tuple[int, ...]
    channels: int
    time: int | None
    learnables: int


IMAGE = "imageInputLayer([28 28 3])"
WIDE = "imageInputLayer([224 224 3])"
VOLUME = "image3dInputLayer([16 16 16 2])"
SERIES = "sequenceInputLayer(12)"  # with 30 time steps
FRAMES = "sequenceInputLayer([20 20 2])"  # images in time
ROWS = "featureInputLayer(50)"
WORDS = "sequenceInputLayer(1)"
STEPS = 30

CASES: tuple[Case, ...] = (
    # convolutions over images
    Case(IMAGE, "convolution2dLayer(5, 20)", (24, 24), 20, None, 5 * 5 * 3 * 20 + 20),
    Case(IMAGE, "convolution2dLayer([3 5], 8)", (26, 24), 8, None, 3 * 5 * 3 * 8 + 8),
    Case(IMAGE, "convolution2dLayer(3, 16, 'Padding', 'same')", (28, 28), 16, None, 3 * 3 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(4, 16, Padding='same')", (28, 28), 16, None, 4 * 4 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(3, 16, Padding='same', Stride=3)", (10, 10), 16, None, 3 * 3 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(3, 16, 'Padding', 1, 'Stride', 2)", (14, 14), 16, None, 3 * 3 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(3, 16, 'Padding', [2 1])", (30, 28), 16, None, 3 * 3 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(3, 16, 'Padding', [1 2 0 3])", (29, 29), 16, None, 3 * 3 * 3 * 16 + 16),
    Case(IMAGE, "convolution2dLayer(3, 4, DilationFactor=2)", (24, 24), 4, None, 3 * 3 * 3 * 4 + 4),
    Case(WIDE, "convolution2dLayer(11, 96, 'Stride', 4)", (54, 54), 96, None, 11 * 11 * 3 * 96 + 96),
    Case(WIDE, "convolution2dLayer(7, 64, Stride=2, Padding=3)", (112, 112), 64, None, 7 * 7 * 3 * 64 + 64),
    Case(IMAGE, "groupedConvolution2dLayer(3, 4, 3)", (26, 26), 12, None, 3 * 3 * 1 * 4 * 3 + 12),
    Case(IMAGE, "groupedConvolution2dLayer(3, 2, 'channel-wise')", (26, 26), 6, None, 3 * 3 * 1 * 6 + 6),
    Case(VOLUME, "convolution3dLayer(3, 8)", (14, 14, 14), 8, None, 27 * 2 * 8 + 8),
    Case(VOLUME, "convolution3dLayer([1 2 3], 4, 'Stride', [1 2 2])", (16, 8, 7), 4, None, 6 * 2 * 4 + 4),
    Case(VOLUME, "convolution3dLayer(3, 4, Padding='same', Stride=2)", (8, 8, 8), 4, None, 27 * 2 * 4 + 4),
    # … over time
    Case(SERIES, "convolution1dLayer(5, 32)", (), 32, 26, 5 * 12 * 32 + 32),
    Case(SERIES, "convolution1dLayer(5, 32, Padding='same')", (), 32, 30, 5 * 12 * 32 + 32),
    Case(SERIES, "convolution1dLayer(3, 64, Padding='causal')", (), 64, 30, 3 * 12 * 64 + 64),
    Case(SERIES, "convolution1dLayer(3, 8, Padding='causal', DilationFactor=4)", (), 8, 30, 3 * 12 * 8 + 8),
    Case(SERIES, "convolution1dLayer(4, 8, 'Stride', 2)", (), 8, 14, 4 * 12 * 8 + 8),
    Case(SERIES, "convolution1dLayer(4, 8, Padding=[1 3])", (), 8, 31, 4 * 12 * 8 + 8),
    # transposed
    Case(IMAGE, "transposedConv2dLayer(3, 8)", (30, 30), 8, None, 3 * 3 * 3 * 8 + 8),
    Case(IMAGE, "transposedConv2dLayer(4, 8, Stride=2, Cropping=1)", (56, 56), 8, None, 4 * 4 * 3 * 8 + 8),
    Case(IMAGE, "transposedConv2dLayer(3, 8, Stride=2, Cropping='same')", (56, 56), 8, None, 3 * 3 * 3 * 8 + 8),
    Case(SERIES, "transposedConv1dLayer(4, 6, Stride=2)", (), 6, 62, 4 * 12 * 6 + 6),
    Case(VOLUME, "transposedConv3dLayer(2, 4, Stride=2)", (32, 32, 32), 4, None, 8 * 2 * 4 + 4),
    # pooling: the stride is 1 unless said
    Case(IMAGE, "maxPooling2dLayer(2)", (27, 27), 3, None, 0),
    Case(IMAGE, "maxPooling2dLayer(2, Stride=2)", (14, 14), 3, None, 0),
    Case(IMAGE, "maxPooling2dLayer(3, 'Stride', 2, 'Padding', [0 1 0 1])", (14, 14), 3, None, 0),
    Case(IMAGE, "maxPooling2dLayer([3 2], Stride=[2 3])", (13, 9), 3, None, 0),
    Case(IMAGE, "averagePooling2dLayer(5, Stride=3, Padding='same')", (10, 10), 3, None, 0),
    Case(IMAGE, "averagePooling2dLayer(2, Stride=2)", (14, 14), 3, None, 0),
    Case(SERIES, "maxPooling1dLayer(3, Stride=3)", (), 12, 10, 0),
    Case(SERIES, "averagePooling1dLayer(2, Padding='same')", (), 12, 30, 0),
    Case(VOLUME, "maxPooling3dLayer(2, 'Stride', 2)", (8, 8, 8), 2, None, 0),
    Case(VOLUME, "averagePooling3dLayer(4, 'Stride', 4)", (4, 4, 4), 2, None, 0),
    Case(IMAGE, "globalAveragePooling2dLayer", (), 3, None, 0),
    Case(IMAGE, "globalMaxPooling2dLayer('Name', 'top')", (), 3, None, 0),
    Case(SERIES, "globalAveragePooling1dLayer", (), 12, None, 0),
    Case(SERIES, "globalMaxPooling1dLayer", (), 12, None, 0),
    Case(VOLUME, "globalAveragePooling3dLayer()", (), 2, None, 0),
    # normalisation: an offset and a scale for each channel
    Case(IMAGE, "batchNormalizationLayer", (28, 28), 3, None, 2 * 3),
    Case(SERIES, "batchNormalizationLayer(Epsilon=1e-3)", (), 12, 30, 2 * 12),
    Case(ROWS, "batchNormalizationLayer", (), 50, None, 2 * 50),
    Case(IMAGE, "layerNormalizationLayer", (28, 28), 3, None, 2 * 3),
    Case(SERIES, "layerNormalizationLayer", (), 12, 30, 2 * 12),
    Case(IMAGE, "instanceNormalizationLayer", (28, 28), 3, None, 2 * 3),
    Case(SERIES, "groupNormalizationLayer(4)", (), 12, 30, 2 * 12),
    Case(IMAGE, "groupNormalizationLayer('all-channels')", (28, 28), 3, None, 2 * 3),
    Case(IMAGE, "groupNormalizationLayer('channel-wise')", (28, 28), 3, None, 2 * 3),
    Case(IMAGE, "crossChannelNormalizationLayer(5)", (28, 28), 3, None, 0),
    # recurrent
    Case(SERIES, "lstmLayer(100)", (), 100, 30, 4 * 100 * (12 + 100 + 1)),
    Case(SERIES, "lstmLayer(100, 'OutputMode', 'last')", (), 100, None, 4 * 100 * (12 + 100 + 1)),
    Case(
        SERIES, "lstmLayer(7, StateActivationFunction='softsign', GateActivationFunction='hard-sigmoid')", (), 7, 30, 4 * 7 * 20
    ),
    Case(SERIES, "bilstmLayer(40)", (), 80, 30, 8 * 40 * (12 + 40 + 1)),
    Case(SERIES, "bilstmLayer(40, OutputMode='last')", (), 80, None, 8 * 40 * (12 + 40 + 1)),
    Case(SERIES, "gruLayer(25)", (), 25, 30, 3 * 25 * (12 + 25 + 1)),
    Case(SERIES, "gruLayer(25, OutputMode='last')", (), 25, None, 3 * 25 * (12 + 25 + 1)),
    Case(SERIES, "gruLayer(25, ResetGateMode='before-multiplication')", (), 25, 30, 3 * 25 * (12 + 25 + 1)),
    Case(SERIES, "gruLayer(25, ResetGateMode='recurrent-bias-after-multiplication')", (), 25, 30, 3 * 25 * (12 + 25 + 2)),
    # attention: projections of queries, keys, values and output, each with a bias
    Case(SERIES, "selfAttentionLayer(4, 16)", (), 12, 30, 3 * (12 * 16 + 16) + 16 * 12 + 12),
    Case(SERIES, "selfAttentionLayer(2, 8, NumValueChannels=10, OutputSize=6)", (), 6, 30, 2 * 104 + 130 + 66),
    Case(SERIES, "selfAttentionLayer(4, 16, AttentionMask='causal')", (), 12, 30, 3 * (12 * 16 + 16) + 16 * 12 + 12),
    Case(SERIES, "positionEmbeddingLayer(12, 128)", (), 12, 30, 12 * 128),
    Case(SERIES, "sinusoidalPositionEncodingLayer(16)", (), 16, 30, 0),
    # dense and embedding
    Case(IMAGE, "fullyConnectedLayer(10)", (), 10, None, 28 * 28 * 3 * 10 + 10),
    Case(ROWS, "fullyConnectedLayer(16)", (), 16, None, 50 * 16 + 16),
    Case(SERIES, "fullyConnectedLayer(9, 'WeightsInitializer', 'he')", (), 9, 30, 12 * 9 + 9),
    Case(FRAMES, "fullyConnectedLayer(5)", (), 5, 30, 20 * 20 * 2 * 5 + 5),
    Case(WORDS, "wordEmbeddingLayer(50, 1000)", (), 50, 30, 50 * 1001),
    # functions of each element, dropout, structure
    Case(IMAGE, "reluLayer", (28, 28), 3, None, 0),
    Case(IMAGE, "leakyReluLayer(0.1)", (28, 28), 3, None, 0),
    Case(IMAGE, "clippedReluLayer(6)", (28, 28), 3, None, 0),
    Case(SERIES, "eluLayer", (), 12, 30, 0),
    Case(SERIES, "geluLayer", (), 12, 30, 0),
    Case(SERIES, "tanhLayer", (), 12, 30, 0),
    Case(SERIES, "sigmoidLayer", (), 12, 30, 0),
    Case(SERIES, "swishLayer", (), 12, 30, 0),
    Case(IMAGE, "preluLayer", (28, 28), 3, None, 3),
    Case(SERIES, "functionLayer(@relu)", (), 12, 30, 0),
    Case(ROWS, "dropoutLayer(0.2)", (), 50, None, 0),
    Case(IMAGE, "spatialDropoutLayer", (28, 28), 3, None, 0),
    Case(IMAGE, "flattenLayer", (), 28 * 28 * 3, None, 0),
    Case(FRAMES, "flattenLayer", (), 20 * 20 * 2, 30, 0),
    # images in time: a layer over space is applied to each time step
    Case(FRAMES, "convolution2dLayer(5, 4)", (16, 16), 4, 30, 5 * 5 * 2 * 4 + 4),
    Case(FRAMES, "maxPooling2dLayer(2, Stride=2)", (10, 10), 2, 30, 0),
    Case(FRAMES, "batchNormalizationLayer", (20, 20), 2, 30, 4),
    Case("inputLayer([20 20 2 NaN NaN], 'SSCBT')", "convolution2dLayer(5, 4)", (16, 16), 4, 30, 5 * 5 * 2 * 4 + 4),
)
