"""No file can run code or reach another one: what is refused, and with which name."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from breakeven.errors import InputError
from breakeven.models.asked import Asked
from breakeven.models.keras.read import read

INPUT = {"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 4], "name": "in"}}


def _keras(folder: Path, *layers: dict[str, Any], **members: str) -> Path:  # Any: JSON
    file = folder / "model.keras"
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, *layers]}}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.json", json.dumps(config))
        for name, text in members.items():
            archive.writestr(name, text)
    return file


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ({"module": "keras.layers", "class_name": "Lambda", "config": {"name": "evil"}}, "Lambda 'evil' is a lambda"),
        (
            {"module": "mine", "class_name": "Own", "config": {"name": "x"}, "registered_name": "mine>Own"},
            "Own 'x' is a custom object",
        ),
        ({"module": "keras.layers", "class_name": "Unheard", "config": {"name": "y"}}, "layer 'y'"),
    ],
)
def test_what_is_not_keras_own_is_refused_by_name(tmp_path: Path, layer: dict[str, Any], said: str) -> None:  # Any: JSON
    with pytest.raises(InputError, match=said):
        read(_keras(tmp_path, layer))


def test_a_member_that_leads_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leads out of the file"):
        read(_keras(tmp_path, **{"../../evil.py": "1"}))


def test_pickles_in_hdf5_are_never_opened(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    file = tmp_path / "model.h5"
    with h5py.File(file, "w") as made:
        made["pickle"] = b"cos\nsystem\n(S'touch pwned'\ntR."
    with pytest.raises(InputError, match="no model_config"):
        read(file)


@pytest.mark.parametrize("place", ["../../etc/passwd", "/etc/passwd", "..\\x"])
def test_weights_outside_the_folder_of_an_onnx_file_are_refused(tmp_path: Path, place: str) -> None:
    onnx = pytest.importorskip("onnx")
    from breakeven.models.onnx.read import read as read_onnx

    h = onnx.helper
    weight = onnx.TensorProto(name="w", data_type=1, dims=[4, 2], data_location=1)
    weight.external_data.add(key="location", value=place)
    x, y = (h.make_tensor_value_info(n, 1, ["batch", k]) for n, k in (("x", 4), ("y", 2)))
    graph = h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    file = tmp_path / "m.onnx"
    file.write_bytes(h.make_model(graph).SerializeToString())
    with pytest.raises(InputError, match="outside the folder"):
        read_onnx(file, Asked(batch=3))
