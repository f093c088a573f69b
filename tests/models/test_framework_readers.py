"""Files that Keras and ONNX allow and few people write: each is read rightly, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from breakeven import cli
from breakeven.errors import InputError
from breakeven.models.asked import Asked
from breakeven.models.keras.read import read
from breakeven.models.learnables import count
from breakeven.models.network import Model
from breakeven.models.torch_script import write
from tests.models.scripts import module

Config = dict[str, Any]  # Any: JSON
INPUT = {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 4, 4], "name": "in"}}


def _sequential(folder: Path, *layers: Config) -> Model:
    file = folder / "model.json"
    file.write_text(json.dumps({"class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, *layers]}}))
    return read(file)


def _tensor(name: str, node: int) -> Config:
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, node, 0]}}


def _layer(kind: str, name: str, *calls: list[Config], **config: Any) -> Config:  # Any: JSON
    nodes = [{"args": call, "kwargs": {}} for call in calls]
    return {"module": "keras.layers", "class_name": kind, "config": {"name": name, **config}, "inbound_nodes": nodes}


def _functional(entering: Config, layers: list[Config], last: tuple[str, int], name: str) -> Config:
    config = {"name": name, "layers": [{**entering, "inbound_nodes": []}, *layers]}
    config |= {"input_layers": [[entering["config"]["name"], 0, 0]], "output_layers": [[*last, 0]]}
    return {"module": "keras", "class_name": "Functional", "config": config}


def test_a_layer_may_be_called_like_a_mask(tmp_path: Path) -> None:
    named = {"class_name": "Dense", "config": {"name": "out mask", "units": 2}}
    assert _sequential(tmp_path, named).network.output.channels == 2


@pytest.mark.parametrize("kind", ["BatchNormalization", "GroupNormalization"])
@pytest.mark.parametrize(("scale", "center"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_normalisation_learns_the_scale_and_the_offset_that_it_has(
    tmp_path: Path, kind: str, scale: bool, center: bool
) -> None:
    model = _sequential(tmp_path, {"class_name": kind, "config": {"name": "n", "scale": scale, "center": center, "groups": 2}})
    learned = sum(p.numel() for p in module(model).parameters() if p.requires_grad)
    assert learned == count(model.network) == 4 * (scale + center)


def test_calls_of_a_shared_layer_are_told_apart_however_many(tmp_path: Path) -> None:
    """A layer called 1,001 times in a model that is itself called twice."""
    calls = [[_tensor("x", 0)], *([_tensor("d", k)] for k in range(1000))]
    entering = {"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "x"}}
    inner = _functional(entering, [_layer("ReLU", "d", *calls)], ("d", 1000), "inner")
    inner["inbound_nodes"] = [{"args": [_tensor("first", 0)], "kwargs": {}}, {"args": [_tensor("inner", 0)], "kwargs": {}}]
    outer = {"class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "first"}}
    file = tmp_path / "model.json"
    file.write_text(json.dumps(_functional(outer, [inner], ("inner", 1), "outer")))
    layers = read(file).network.layers
    assert len(layers) == 1 + 2 * 1001
    assert [layer.inputs for layer in layers[1:]] == [(before.name,) for before in layers[:-1]]


def _onnx(folder: Path, *nodes: Any, opset: int = 17, stored: Any = ()) -> Path:  # Any: protobuf's messages
    onnx = pytest.importorskip("onnx")
    h = onnx.helper
    x = h.make_tensor_value_info("x", 1, ["batch", 4])
    y = onnx.ValueInfoProto(name="y")
    graph = h.make_graph(list(nodes), "g", [x], [y], list(stored))
    file = folder / "model.onnx"
    file.write_bytes(h.make_model(graph, opset_imports=[h.make_opsetid("", opset)]).SerializeToString())
    return file


@pytest.mark.parametrize("opset", [11, 17])
def test_dropout_keeps_its_rate(tmp_path: Path, opset: int) -> None:
    """An attribute before version 12, then an input."""
    onnx = pytest.importorskip("onnx")
    from breakeven.models.onnx.read import read as read_onnx

    h = onnx.helper
    rate = onnx.TensorProto(name="r", data_type=1, float_data=[0.2])
    node = h.make_node("Dropout", ["x"], ["y"], ratio=0.2) if opset < 12 else h.make_node("Dropout", ["x", "r"], ["y"])
    file = _onnx(tmp_path, node, opset=opset, stored=[rate] if opset >= 12 else [])
    assert "F.dropout(x, 0.2, self.training)" in write(read_onnx(file, Asked(batch=3))).text


def test_weights_without_elements_are_refused_in_one_line(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from breakeven.models.onnx.read import read as read_onnx

    h = onnx.helper
    weight = onnx.TensorProto(name="w", data_type=1, dims=[3, 4, 1])
    nodes = [h.make_node("Reshape", ["x", "s"], ["a"]), h.make_node("Conv", ["a", "w"], ["y"], group=0)]
    sizes = onnx.TensorProto(name="s", data_type=7, dims=[3], int64_data=[3, 4, 1])
    with pytest.raises(InputError) as caught:
        read_onnx(_onnx(tmp_path, *nodes, stored=[weight, sizes]), Asked(batch=3))
    assert "\n" not in str(caught.value)


def test_predict_prices_the_forward_pass_of_what_is_not_trained(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    weight = onnx.TensorProto(name="w", data_type=1, dims=[4, 2], data_location=1)
    weight.external_data.add(key="location", value="weights.bin")
    file = _onnx(tmp_path, onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), stored=[weight])
    out = tmp_path / "ops.csv"
    assert cli.main(["predict", "--net", str(file), "--batch", "8", "--gpu", "t4", "-o", str(out)]) == 0
    row = pl.read_csv(out).row(0, named=True)
    assert (row["op"], row["m"], row["direction"]) == ("gemm", 8, "forward")
    assert row["mid_us"] > 0
