"""What is written for a Keras file computes what Keras computes, with the same weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from breakeven.models.keras.read import read
from tests.models.frameworks import keras_zoo_names
from tests.models.frameworks.written import Array, network, outputs, put

ZOO = Path(__file__).parent / "frameworks" / "keras_zoo.py"
Table = dict[str, Any]  # Any: JSON
WITHIN = 1e-5


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All models, made by one child."""
    folder = tmp_path_factory.mktemp("keras")
    environment = {**os.environ, "KERAS_BACKEND": "torch", "KERAS_HOME": str(folder)}
    done = subprocess.run([sys.executable, str(ZOO), str(folder)], env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def _arrays(held: Any, at: int, names: list[str], start: int, stop: int) -> dict[str, Array]:  # Any: an archive
    return {name: held[f"w_{at}_{i}"] for i, name in list(enumerate(names))[start:stop]}


@pytest.mark.parametrize("name", keras_zoo_names())
def test_outputs_equal_those_of_keras(zoo: Path, name: str) -> None:
    table: Table = json.loads((zoo / "tables.json").read_text())[name]
    held = np.load(zoo / f"{name}.npz")
    model = read(zoo / f"{name}{table['suffix']}")
    made, names = network(replace(model, training=replace(model.training, loss="squares")))
    for at, (path, wrapper, kind, arrays) in enumerate(table["layers"]):
        if not arrays:
            continue
        target = getattr(made, names[path])
        if wrapper == "Bidirectional":
            half = len(arrays) // 2
            put(target[0], kind, _arrays(held, at, arrays, 0, half))
            put(target[1], kind, {k: held[f"w_{at}_{half + i}"] for i, k in enumerate(arrays[half:])})
        else:
            put(target, kind, _arrays(held, at, arrays, 0, len(arrays)))
    inputs = [held[f"in_{i}"] for i in range(sum(key.startswith("in_") for key in held.files))]
    given, expected = outputs(made, inputs), held["out"]
    if expected.ndim > 3:
        expected = np.moveaxis(expected, -1, 1)
    assert given.shape == expected.shape
    assert np.abs(given - expected).max() <= WITHIN * max(1.0, np.abs(expected).max())
