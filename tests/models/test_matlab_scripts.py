"""Whole scripts as people post and export them: reports, the toolbox's examples, Deep Network Designer."""

from __future__ import annotations

import pytest

from breakeven.models.learnables import count
from breakeven.models.torch_script import write
from tests.models.scripts import module, script

REPORT = """
%% CNN-LSTM on minute data
numFeatures = 1440; numResponses = 1; numHiddenUnits = 128;
layers = [ ...
    sequenceInputLayer([numFeatures 1 1],'Name','input')
    sequenceFoldingLayer('Name','fold')
    convolution2dLayer([5 1],32,'Padding','same','WeightsInitializer','he','Name','conv','DilationFactor',1);
    batchNormalizationLayer('Name','bn')
    eluLayer('Name','elu')
    averagePooling2dLayer(1,'Stride',5,'Name','pool1')
    sequenceUnfoldingLayer('Name','unfold')
    flattenLayer('Name','flatten')
    lstmLayer(numHiddenUnits,'OutputMode','last','RecurrentWeightsInitializer','He','InputWeightsInitializer','He')
    dropoutLayer(0.25,'Name','drop3')
    fullyConnectedLayer(numResponses,'Name','fc')
    regressionLayer('Name','output')    ];
lgraph = layerGraph(layers);
lgraph = connectLayers(lgraph,'fold/miniBatchSize','unfold/miniBatchSize');
options = trainingOptions('adam', ...
    'MaxEpochs',150, ...
    'GradientThreshold',1, ...
    'InitialLearnRate',0.005, ...
    'LearnRateSchedule',"piecewise", ...
    'LearnRateDropPeriod',96, ...
    'LearnRateDropFactor',0.25, ...
    'MiniBatchSize',64,...
    'Verbose',false, ...
    'Shuffle',"every-epoch",...
    'ExecutionEnvironment',"gpu",...
    'Plots','training-progress');
net = trainNetwork(XTrain,YTrain,lgraph,options);
"""

VOWELS = """
load JapaneseVowelsTrainData
numObservations = numel(XTrain);
for i = 1:numObservations
    sequence = XTrain{i};
    sequenceLengths(i) = size(sequence,2);
end
[sequenceLengths,idx] = sort(sequenceLengths);
XTrain = XTrain(idx);
numFeatures = size(XTrain{1},1);
layers = [
    sequenceInputLayer(numFeatures)
    bilstmLayer(100,OutputMode="last")
    fullyConnectedLayer(numClasses)
    softmaxLayer];
options = trainingOptions("adam",MaxEpochs=50,InitialLearnRate=0.002,GradientThreshold=1,Shuffle="never", ...
    Plots="training-progress",Metrics="accuracy",Verbose=false,InputDataFormats="CTB");
net = trainnet(XTrain,TTrain,layers,"crossentropy",options);
scores = minibatchpredict(net,XTest);
"""

DESIGNER = """
net = dlnetwork;
tempNet = [
    imageInputLayer([32 32 3],"Name","imageinput","Normalization","zscore")
    convolution2dLayer([3 3],32,"Name","conv","Padding","same")];
net = addLayers(net,tempNet);
tempNet = [
    batchNormalizationLayer("Name","batchnorm")
    reluLayer("Name","relu")];
net = addLayers(net,tempNet);
tempNet = convolution2dLayer([1 1],32,"Name","conv_1","Padding","same");
net = addLayers(net,tempNet);
tempNet = [
    depthConcatenationLayer(2,"Name","depthcat")
    globalAveragePooling2dLayer("Name","gapool")
    fullyConnectedLayer(10,"Name","fc")
    softmaxLayer("Name","softmax")];
net = addLayers(net,tempNet);
clear tempNet;
net = connectLayers(net,"conv","batchnorm");
net = connectLayers(net,"conv","conv_1");
net = connectLayers(net,"relu","depthcat/in1");
net = connectLayers(net,"conv_1","depthcat/in2");
net = initialize(net);
plot(net);
imds = imageDatastore("digits", "IncludeSubfolders", true, "LabelSource", "foldernames");
[imdsTrain,imdsTest] = splitEachLabel(imds,0.8,"randomized");
options = trainingOptions("sgdm","MiniBatchSize",16,"L2Regularization",5e-4,"ValidationData",imdsTest,"ValidationFrequency",30);
net = trainnet(imdsTrain,net,"crossentropy",options);
"""

TRANSFORMER = """
function net = trainModel(X, T)
    width = 32; heads = 4; layers = sequenceInputLayer(8, Name="in");
    layers = [layers; fullyConnectedLayer(width, Name="project")];
    graph = layerGraph([layers; positionEmbeddingLayer(width, 100, Name="where"); additionLayer(2, Name="sum0")]);
    graph = connectLayers(graph, "project", "sum0/in2");
    last = "sum0";
    for k = 1:2
        block = [layerNormalizationLayer(Name="norm" + k); selfAttentionLayer(heads, width, Name="attention" + k); ...
            additionLayer(2, Name="sum" + k)];
        graph = addLayers(graph, block);
        graph = connectLayers(graph, last, "norm" + k);
        graph = connectLayers(graph, last, "sum" + k + "/in2");
        last = sprintf("sum%d", k);
    end
    graph = addLayers(graph, [globalAveragePooling1dLayer(Name="mean"); fullyConnectedLayer(1, Name="out")]);
    graph = connectLayers(graph, last, "mean");
    net = trainnet(X, T, dlnetwork(graph), "mse", trainingOptions("adam", MiniBatchSize=8));
end
"""


@pytest.mark.parametrize(
    ("text", "data", "learned", "output"),
    [
        (REPORT, "X=1440x1xN", 5 * 32 + 32 + 64 + 4 * 128 * (288 * 32 + 128 + 1) + 129, "1"),
        (REPORT, "XTrain=1440x1x1x28xN", 5 * 32 + 32 + 64 + 4 * 128 * (288 * 32 + 128 + 1) + 129, "1"),
        (VOWELS, "XTrain=12x26x270", 8 * 100 * 113 + 201 * 9, "9"),
        (DESIGNER, "", 27 * 32 + 32 + 64 + 32 * 32 + 32 + 650, "10"),
        (TRANSFORMER, "X=8x50xN", 9 * 32 + 3200 + 2 * (64 + 4 * 33 * 32) + 33, "1"),
    ],
)  # fmt: skip
def test_a_script_as_it_is_posted_is_read(text: str, data: str, learned: int, output: str) -> None:
    model = script(text, *([data] if data else []), "numClasses=9")
    assert count(model.network) == learned
    assert str(model.network.output) == output
    made = module(model)
    assert sum(p.numel() for p in made.parameters() if p.requires_grad) == learned
    compile(write(model).text, "written.py", "exec")


def test_the_report_keeps_its_options() -> None:
    training = script(REPORT, "X=1440x1xN").training
    assert (training.threshold, training.threshold_of, training.rate, training.period) == (1.0, "parameter", 0.005, 96)
    assert (training.batch, training.shuffle, training.read_every, training.loss) == (64, "every-epoch", 1, "half_squares")
