"""What is written for an ONNX file computes what onnxruntime computes, with the same weights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from breakeven.models.asked import Asked
from breakeven.models.kinds import Input
from breakeven.models.network import Model
from breakeven.models.onnx.read import read
from tests.models.frameworks import onnx_zoo_names
from tests.models.frameworks.written import network, outputs, put_onnx

ZOO = Path(__file__).parent / "frameworks" / "onnx_zoo.py"
WITHIN = 1e-5
BATCH = 3


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All models, made by one child."""
    folder = tmp_path_factory.mktemp("onnx")
    done = subprocess.run(
        [sys.executable, str(ZOO), str(folder)], env={**os.environ}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def _inputs(model: Model, held: Any) -> list[Any]:  # Any: an archive of arrays
    """What goes in, in the order of the network's inputs, which may be fewer than the file's."""
    said = [
        layer.place.text.removeprefix("input ") for layer in model.network.layers if isinstance(layer.kind, Input) and layer.place
    ]
    return [held[f"in_{['x', 'y'].index(name)}"] for name in said]


@pytest.mark.parametrize("name", onnx_zoo_names())
def test_outputs_equal_those_of_onnxruntime(zoo: Path, name: str) -> None:
    onnx = pytest.importorskip("onnx")
    file, held = zoo / f"{name}.onnx", np.load(zoo / f"{name}.npz")
    model = read(file, Asked(batch=BATCH))
    made, names = network(model)
    proto = onnx.load(str(file))
    stored = {one.name: onnx.numpy_helper.to_array(one) for one in proto.graph.initializer}
    for number, node in enumerate(proto.graph.node, 1):
        layer = f"{node.op_type.lower()}_{number}"
        if layer in names:
            put_onnx(made, names[layer], node, stored)
    given, expected = outputs(made, _inputs(model, held)), held["out"]
    assert given.shape == expected.shape
    assert np.abs(given - expected).max() <= WITHIN * max(1.0, np.abs(expected).max())
