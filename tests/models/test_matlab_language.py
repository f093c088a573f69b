"""MATLAB's language as networks are written in it, and what is said where something cannot be read."""

from __future__ import annotations

import pytest

from breakeven.errors import InputError
from breakeven.models.kinds import Convolution, Dense, Dropout, Merge, Recurrent
from breakeven.models.learnables import count
from breakeven.models.network import Model
from tests.models.scripts import OPTIONS, network, script

TRAIN = OPTIONS + "net = trainNetwork(X, Y, layers, options);\n"


def units(text: str, *data: str) -> int:
    """The size that a script's last dense layer comes to."""
    lines = f"{text}\nlayers = [featureInputLayer(4); fullyConnectedLayer(n); regressionLayer];\n{TRAIN}"
    kind = script(lines, *data).network.layers[-1].kind
    assert isinstance(kind, Dense)
    return kind.units


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n = 3;", 3),
        ("n = 2^3 - 1; % a comment with 'quotes'", 7),
        ("n = -2 + ...  continued\n  10;", 8),
        ("%{\nn = 1;\n%{\nnested\n%}\n%}\nn = 5;", 5),
        ("a = [1 2 3]; n = a(end);", 3),
        ("a = [1 -2]; n = numel(a);", 2),
        ("a = [1 - 2, 5]; n = numel(a);", 2),
        ("a = [1, 2; 3, 4]'; n = a(1, 2);", 3),
        ("a = 1:2:9; n = length(a);", 5),
        ("a = {1, 'x', \"y\"}; n = numel(a);", 3),
        ("a = {4 5}; n = a{2};", 5),
        ("s.width = 6; s.deep = 2; n = s.width * s.deep;", 12),
        ("s = struct('width', 6); n = s.width;", 6),
        ("n = 0; for k = 1:4, n = n + k; end", 10),
        ("n = 0; for k = [2 4 6]\n if k == 4, continue, end\n n = n + k; end", 8),
        ("n = 1; while n < 100, n = n * 3; end", 243),
        ("k = 2; if k > 3, n = 1; elseif k > 1, n = 9; else, n = 2; end", 9),
        ("mode = 'wide'; switch mode, case {'a', 'wide'}, n = 11; otherwise, n = 1; end", 11),
        ("f = @(x) x * 2 + 1; n = f(3);", 7),
        ("n = double_it(4);\nfunction y = double_it(x)\ny = 2 * x;\nend", 8),
        ("[~, n] = size(zeros(3, 7));", 7),
        ("X = randn(4, 100); n = size(X, 1);", 4),
        ("Y = categorical(randi(6, 100, 1)); n = numel(categories(Y));", 6),
        ("try, n = 4; catch err, n = 5; end", 4),
        ("n = max([3 9 4]); hold on", 9),
        ("clear all; close all; clc\nn = floor(7 / 2);", 3),
        ("n = sum([1 2 3]) + mod(7, 4) + ~0;", 10),
        ("load data.mat\nn = numClasses;", 5),
    ],
)
def test_variables_and_arithmetic_are_followed(text: str, expected: int) -> None:
    data = ("numClasses=5",) if "numClasses" in text else ()
    assert units(text, *data) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n = load('x.mat');", "train.m:2: fullyConnectedLayer: the output size cannot be read: nothing is known of 'load'"),
        ("n = numel(categories(labels));", "nothing is known of 'labels'"),
        ("if rand > 0.5, n = 1; else, n = 2; end", "it depends on a condition that is not known"),
        ("n = 1.5;", "it has to be a whole number"),
        ("n = 'many';", "has to be a number"),
        ("n = 3; x = (1 + 2;", "train.m:1"),
        ("n = 'open;", "train.m:1: a text is not closed"),
        ("n = 3; end", "train.m:1: an `end` closes nothing"),
        ("n = 1; while true, n = 1; end", "loops too long"),
        ("n = 3i;", "complex numbers"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        units(text)
    assert said in str(caught.value)
    assert "train.m:" in str(caught.value)


def refused(*layers: str, data: tuple[str, ...] = (), **further: str) -> str:
    with pytest.raises(InputError) as caught:
        network(*layers, data=data, **further)  # type: ignore[arg-type]  # texts by their names
    return str(caught.value)


def test_a_layer_that_is_not_understood_is_named_and_not_guessed() -> None:
    said = refused("featureInputLayer(4)", "wordCloudLayer(3)")
    assert "train.m:1" in said or "train.m:3" in said
    assert "wordCloudLayer is a layer that is not understood here" in said


def test_an_option_that_is_not_understood_is_named() -> None:
    assert "train.m:3: convolution2dLayer: the option 'Striide' is not understood" in refused(
        "imageInputLayer([8 8 1])", "convolution2dLayer(3, 4, 'Striide', 2)"
    )


def test_a_layer_that_does_not_fit_is_named_with_its_line_and_sizes() -> None:
    said = refused("imageInputLayer([8 8 1])", "reluLayer", "convolution2dLayer(9, 4)")
    assert "train.m:4: layer 'conv': would give 0×0×4: nothing is left of the 8×8×1 that goes in" in said


def test_the_length_of_sequences_is_asked_for() -> None:
    said = refused("sequenceInputLayer(12)", "lstmLayer(5)")
    assert "the length of the sequences is not known" in said
    assert "--data XTrain=12xTIMExN" in said


def test_data_that_does_not_fit_is_named() -> None:
    assert "XTrain of 11x30xN does not fit the layer: 12xTIMExN does" in refused(
        "sequenceInputLayer(12)", "lstmLayer(5)", data=("XTrain=11x30xN",)
    )


@pytest.mark.parametrize("data", ["X", "X=", "X=ax3", "X=3x-1", "X=1.5x2", "1X=3x3", "nowhere.mat"])
def test_sizes_that_are_none_are_refused(data: str) -> None:
    with pytest.raises(InputError, match="--data"):
        network("featureInputLayer(4)", "fullyConnectedLayer(1)", data=(data,))


BRANCHES = """
lgraph = layerGraph([
    imageInputLayer([16 16 3], 'Name', 'in')
    convolution2dLayer(3, 8, 'Padding', 'same', 'Name', 'conv')
    additionLayer(2, 'Name', 'add')
    fullyConnectedLayer(10, Name='fc')
    softmaxLayer(Name='soft')
    classificationLayer(Name='out')]);
lgraph = addLayers(lgraph, convolution2dLayer(1, 8, 'Name', 'skip'));
lgraph = connectLayers(lgraph, 'in', 'skip');
lgraph = connectLayers(lgraph, 'skip', 'add/in2');
options = trainingOptions('sgdm', 'MiniBatchSize', 32);
net = trainNetwork(images, labels, lgraph, options);
"""


def test_a_graph_joins_its_branches() -> None:
    model = script(BRANCHES)
    add = next(layer for layer in model.network.layers if isinstance(layer.kind, Merge))
    assert add.inputs == ("conv", "skip")
    assert model.training.loss == "cross_entropy"
    assert (model.training.solver, model.training.rate, model.training.momentum) == ("sgd", 0.01, 0.9)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("'add/in2'", "'add/in3'", "has no input 'in3'"),
        ("'in', 'skip'", "'inn', 'skip'", "no layer is called 'inn'"),
        ("connectLayers(lgraph, 'skip', 'add/in2')", "lgraph", "nothing is connected to add/in2"),
        ("convolution2dLayer(1, 8, 'Name', 'skip')", "convolution2dLayer(1, 9, 'Name', 'skip')", "they have to be equal"),
        ("'Name', 'skip'", "'Name', 'conv'", "a second layer is called 'conv'"),
    ],
)
def test_a_graph_that_is_wrong_is_said_to_be(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        script(BRANCHES.replace(old, new))


FOLDED = """
layers = [sequenceInputLayer([28 28 1], Name="in"); sequenceFoldingLayer(Name="fold"); convolution2dLayer(5, 4, Name="conv")
    reluLayer(Name="relu"); sequenceUnfoldingLayer(Name="unfold"); flattenLayer(Name="flat"); lstmLayer(16, OutputMode="last")
    fullyConnectedLayer(3); softmaxLayer; classificationLayer];
lgraph = layerGraph(layers);
lgraph = connectLayers(lgraph, "fold/miniBatchSize", "unfold/miniBatchSize");
options = trainingOptions("adam");
net = trainNetwork(X, Y, lgraph, options);
"""


def test_folding_and_unfolding_keep_the_time() -> None:
    shapes = script(FOLDED, "X=28x28x1x15xN").network.shapes
    assert str(shapes["conv"]) == "24×24×4 at 15 time steps"
    assert str(shapes["flat"]) == "2304 at 15 time steps"


def test_a_dlnetwork_is_trained_with_its_loss() -> None:
    model = script(
        "net = dlnetwork;\nnet = addLayers(net, [featureInputLayer(8, Name='a'); fullyConnectedLayer(2); softmaxLayer]);\n"
        "options = trainingOptions('rmsprop', Shuffle='never');\nnet = trainnet(X, T, net, \"crossentropy\", options);"
    )
    training = model.training
    assert (training.loss, training.solver, training.beta2, training.shuffle) == ("cross_entropy", "rmsprop", 0.9, "never")


def test_a_training_loop_of_ones_own_is_refused_with_its_line() -> None:
    text = (
        "net = dlnetwork([featureInputLayer(8); fullyConnectedLayer(2)]);\nfor k = 1:10\n[l, g] = dlfeval(@modelLoss, net);\nend"
    )
    with pytest.raises(InputError, match=r"train\.m:3: a training loop of one's own"):
        script(text)


def test_layers_are_named_as_matlab_names_them() -> None:
    names = [
        one.name
        for one in network("featureInputLayer(4)", "fullyConnectedLayer(3)", "reluLayer", "fullyConnectedLayer(1)").network.layers
    ]
    assert names == ["featureinput", "fc_1", "relu", "fc_2"]


def test_layers_are_put_together_in_a_loop() -> None:
    text = "layers = imageInputLayer([32 32 3]);\nfor k = 1:3\n"
    text += "layers = [layers; convolution2dLayer(3, 2^(k + 2), Padding='same'); reluLayer];\nend\n"
    text += "layers(end + 1) = fullyConnectedLayer(10);\nlayers = [layers; softmaxLayer; classificationLayer];\n"
    kinds = [one.kind for one in script(text + TRAIN).network.layers]
    assert [k.filters for k in kinds if isinstance(k, Convolution)] == [8, 16, 32]


def sequences(model: Model) -> tuple[int | None, int | None]:
    return model.network.shapes[model.network.inputs[0].name].time, model.observations


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("X = randn(12, 30, 500);", (), (30, 500)),
        ("X = cell(40, 1); for k = 1:40, X{k} = rand(12, 25); end", (), (25, 40)),
        ("", ("X=12x30x500",), (30, 500)),
        ("", ("X=12x30xN",), (30, None)),
        ("", ("XTrain=12x1xN",), (1, None)),
        ("load x.mat", ("X=12x7",), (7, None)),
    ],
)
def test_the_size_of_the_data_is_read_from_the_script_or_said(
    text: str, data: tuple[str, ...], expected: tuple[int, int | None]
) -> None:
    lines = f"{text}\nlayers = [sequenceInputLayer(12); lstmLayer(5, OutputMode='last'); regressionLayer];\n{TRAIN}"
    steps, observations = sequences(script(lines, *data))
    assert steps == expected[0]
    assert observations == expected[1] or (expected[1] is None and observations in (None, 1))


def test_options_have_the_defaults_of_the_documentation() -> None:
    training = network("featureInputLayer(4)", "fullyConnectedLayer(1)", options="options = trainingOptions('adam');\n").training
    assert (training.epochs, training.batch, training.rate, training.decay) == (30, 128, 1e-3, 1e-4)
    assert (training.shuffle, training.threshold, training.period, training.read_every) == ("once", None, None, 50)
    assert training.environment == "cuda"


def test_an_example_from_the_toolbox_is_read_without_further_word() -> None:
    model = script(
        "[XTrain, YTrain] = digitTrain4DArrayData;\nclasses = categories(YTrain); numClasses = numel(classes);\n"
        "layers = [imageInputLayer([28 28 1]); convolution2dLayer(5, 20); batchNormalizationLayer; reluLayer;\n"
        "fullyConnectedLayer(numClasses); softmaxLayer; classificationLayer];\n"
        "options = trainingOptions('sgdm', 'MaxEpochs', 4, 'Plots', 'training-progress', 'ValidationData', {XTrain, YTrain});\n"
        "net = trainNetwork(XTrain, YTrain, layers, options);"
    )
    assert model.observations == 5000
    assert model.training.read_every == 1
    assert any("validation" in note for note in model.notes)
    assert count(model.network) == 520 + 40 + 24 * 24 * 20 * 10 + 10


def test_a_dropout_and_a_recurrent_layer_keep_their_options() -> None:
    kinds = [
        one.kind
        for one in network(
            "sequenceInputLayer(3)", "dropoutLayer(0.1)", "bilstmLayer(4, OutputMode='last')", data=("X=3x9xN",)
        ).network.layers
    ]
    assert isinstance(kinds[1], Dropout)
    assert kinds[1].probability == 0.1
    assert isinstance(kinds[2], Recurrent)
    assert (kinds[2].bidirectional, kinds[2].output) == (True, "last")
