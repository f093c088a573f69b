"""`why` of Keras and ONNX files: read, run as PyTorch, answered under the file's name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from breakeven import cli
from breakeven.errors import InputError
from breakeven.models.asked import Asked
from breakeven.workflows.model_files import read_model

MAKE = """\
import sys
import keras
from keras import layers

model = keras.Sequential([keras.Input((12, 6)), layers.LSTM(8, return_sequences=True), layers.LSTM(4, recurrent_dropout=0.1),
                          layers.Dense(3, activation="softmax")])
optimizer = keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=1.0)
model.compile(optimizer, "categorical_crossentropy", metrics=["accuracy"])
for suffix in (".keras", ".h5"):
    model.save(sys.argv[1] + "/model" + suffix)
with open(sys.argv[1] + "/model.json", "w") as file:
    file.write(model.to_json())
"""
FUSED = "LSTM 'lstm' runs as one fused call (cuDNN) on a GPU."
LOST = "LSTM 'lstm_1' does not run as one fused call but as a loop over its 12 time steps: recurrent_dropout=0.1 loses it."


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One compiled model in the three forms, by Keras itself, in a child."""
    folder = tmp_path_factory.mktemp("keras")
    environment = {**os.environ, "KERAS_BACKEND": "torch", "KERAS_HOME": str(folder)}
    done = subprocess.run([sys.executable, "-c", MAKE, str(folder)], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def _answer(folder: Path, file: str, *options: str) -> dict[str, Any]:  # Any: JSON
    call = ["why", file, "--gpu", "t4", "--steps", "5", "-q", "--json", str(folder / "why.json"), *options]
    assert cli.main(call) == 0
    answer: dict[str, Any] = json.loads((folder / "why.json").read_text())
    return answer


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".keras", ".h5", ".json"])
def test_why_of_a_keras_file_answers_and_says_which_path_each_recurrent_layer_takes(
    saved: Path, tmp_path: Path, suffix: str
) -> None:
    file = str(saved / f"model{suffix}")
    answer = _answer(tmp_path, file, "--batch", "4", "--export", str(tmp_path / "train.py"))
    assert answer["script"] == file
    assert answer["verdict"]["sentence"]
    assert {FUSED, LOST} <= set(answer["warnings"])
    assert "breakeven-model" not in json.dumps(answer)
    text = (tmp_path / "train.py").read_text()
    assert "nn.LSTM(6, 8, batch_first=True)" in text
    assert "BATCH = 4" in text
    assert "F.cross_entropy(y, t)" in text


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_optimizer_and_loss_are_those_of_the_compile_configuration(saved: Path, suffix: str) -> None:
    training = read_model(str(saved / f"model{suffix}")).training
    assert (training.solver, training.momentum, training.nesterov) == ("sgd", 0.9, True)
    assert training.rate == pytest.approx(0.05)
    assert (training.loss, training.threshold, training.threshold_of) == ("cross_entropy", 1.0, "parameter")
    assert training.batch == 32


def test_what_is_asked_takes_the_place_of_what_the_file_says(saved: Path) -> None:
    model = read_model(str(saved / "model.keras"), Asked(batch=7, loss="squares", optimizer="adamw"))
    assert (model.training.solver, model.training.loss, model.batch) == ("adamw", "squares", 7)


def test_a_file_without_an_optimizer_says_what_stands_in(saved: Path) -> None:
    model = read_model(str(saved / "model.json"))
    assert (model.training.solver, model.training.loss) == ("adam", "cross_entropy")
    assert "The file names no optimizer, so Adam stands in; --optimizer says another." in model.notes


@pytest.fixture
def onnx_file(tmp_path: Path) -> Path:
    """A perceptron whose batch is open, and the length of whose sequences."""
    onnx = pytest.importorskip("onnx")
    np = pytest.importorskip("numpy")
    h = onnx.helper
    weights = [onnx.numpy_helper.from_array(np.ones(s, "float32"), n) for n, s in (("w", (6, 16)), ("v", (16, 3)))]
    nodes = [
        h.make_node("MatMul", ["x", "w"], ["a"]),
        h.make_node("Relu", ["a"], ["b"]),
        h.make_node("MatMul", ["b", "v"], ["c"]),
    ]
    nodes += [h.make_node("ReduceMean", ["c"], ["y"], axes=[1], keepdims=0)]
    x = h.make_tensor_value_info("x", 1, ["batch", "seq", 6])
    y = h.make_tensor_value_info("y", 1, ["batch", 3])
    made = h.make_model(h.make_graph(nodes, "g", [x], [y], weights), opset_imports=[h.make_opsetid("", 13)])
    file = tmp_path / "model.onnx"
    file.write_bytes(made.SerializeToString())
    return file


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--loss", "mse", "--optimizer", "sgd"]], ids=["forward", "trained"])
def test_why_of_an_onnx_file_answers_forward_and_trained(onnx_file: Path, tmp_path: Path, options: list[str]) -> None:
    answer = _answer(tmp_path, str(onnx_file), "--data", "seq=9", "--batch", "4", "--export", str(tmp_path / "run.py"), *options)
    assert answer["script"] == str(onnx_file)
    assert answer["verdict"]["sentence"]
    text = (tmp_path / "run.py").read_text()
    assert ("torch.optim.SGD(" in text) == ("torch.no_grad()" not in text) == bool(options)
    assert any("a step is the forward pass" in warning for warning in answer["warnings"]) == (not options)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Asked(), "the size 'seq' of axis 1 is left open: say it with --data seq=N, or --length N"),
        (Asked(("seq=9", "other=2")), "--data other=…: the file has no such size; it leaves open: batch, seq"),
        (Asked(("seq=9",), loss="squares"), "an ONNX file is trained where both --loss and --optimizer are named"),
        (Asked(("seq=9",), batch=3, length=5), None),
    ],
)
def test_open_sizes_of_an_onnx_file_are_bound_or_asked_for(onnx_file: Path, asked: Asked, said: str | None) -> None:
    if said is not None:
        with pytest.raises(InputError, match=said.replace("(", "\\(")):
            read_model(str(onnx_file), asked)
        return
    model = read_model(str(onnx_file), asked)
    assert (model.batch, model.network.shapes[model.network.layers[0].name].time) == (3, 9)
