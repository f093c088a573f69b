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
from breakeven.models.torch_script import write

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


#: What would leave a trace if anything unpickled it.
EVIL = b"cposix\nsystem\n(S'touch pwned'\ntR."
DENSE = {"module": "keras.layers", "class_name": "Dense", "config": {"name": "d", "units": 2}}


def test_a_network_is_read_beside_pickles_that_stay_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    h5py = pytest.importorskip("h5py")
    numpy = pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    config = {"class_name": "Sequential", "config": {"name": "s", "layers": [INPUT, DENSE]}}
    with h5py.File(tmp_path / "model.h5", "w") as made:
        made.attrs["model_config"] = json.dumps(config)
        made.attrs["pickle"] = numpy.void(EVIL)
        made["weights"] = numpy.void(EVIL)
    model = read(_keras(tmp_path, DENSE, **{"model.weights.h5": EVIL.decode(), "assets/x.pkl": EVIL.decode()}))
    assert read(tmp_path / "model.h5").network.output == model.network.output
    assert sorted(one.name for one in tmp_path.iterdir()) == ["model.h5", "model.keras"]


@pytest.mark.parametrize("kind", ["O", "V"])
def test_a_configuration_that_is_no_text_is_refused(tmp_path: Path, kind: str) -> None:
    h5py = pytest.importorskip("h5py")
    numpy = pytest.importorskip("numpy")
    with h5py.File(tmp_path / "model.h5", "w") as made:
        if kind == "V":
            made.attrs["model_config"] = numpy.void(EVIL)
        else:
            made.attrs.create("model_config", made.create_group("g").ref, dtype=h5py.ref_dtype)
    with pytest.raises(InputError, match="model_config is no text"):
        read(tmp_path / "model.h5")


LAMBDA = {"class_name": "__lambda__", "config": {"value": ["4wEAAAAAAAAA", None, None]}}
OWN = {"module": "mine", "class_name": "function", "config": "own", "registered_name": "mine>own"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"activation": LAMBDA}, "is a lambda: it holds code"),
        ({"activation": OWN}, "is a custom object of module 'mine'"),
        ({"kernel_initializer": {"module": "os", "class_name": "system", "config": {}}}, "is a custom object of module 'os'"),
        ({"activation": "os.system"}, "is no activation that is read"),
        ({"units": "__import__('os').system('touch pwned')"}, "units=__import__.* is not understood"),
        ({"name": "x = __import__('os').system('touch pwned')"}, None),
    ],
)
def test_words_of_a_file_never_become_code(tmp_path: Path, change: dict[str, Any], said: str | None) -> None:  # Any: JSON
    layer = {**DENSE, "config": {**DENSE["config"], **change}}  # type: ignore[dict-item]  # a configuration
    if said is None:
        assert "__import__" not in write(read(_keras(tmp_path, layer))).text
        return
    with pytest.raises(InputError, match=said):
        read(_keras(tmp_path, layer))


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


def test_weights_beside_an_onnx_file_are_not_opened(tmp_path: Path) -> None:
    """Sizes are enough: a file that is not there is not missed."""
    onnx = pytest.importorskip("onnx")
    from breakeven.models.onnx.read import read as read_onnx

    h = onnx.helper
    weight = onnx.TensorProto(name="w", data_type=1, dims=[4, 2], data_location=1)
    weight.external_data.add(key="location", value="weights.bin")
    x, y = (h.make_tensor_value_info(n, 1, ["batch", k]) for n, k in (("x", 4), ("y", 2)))
    file = tmp_path / "m.onnx"
    file.write_bytes(
        h.make_model(h.make_graph([h.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])).SerializeToString()
    )
    assert read_onnx(file, Asked(batch=3)).network.output.channels == 2


def test_custom_operators_and_damage_are_told_in_one_line(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from breakeven.models.onnx.read import read as read_onnx

    h = onnx.helper
    x, y = (h.make_tensor_value_info(n, 1, ["batch", 4]) for n in ("x", "y"))
    graph = h.make_graph([h.make_node("Evil", ["x"], ["y"], name="e", domain="mine")], "g", [x], [y])
    file = tmp_path / "m.onnx"
    file.write_bytes(h.make_model(graph, opset_imports=[h.make_opsetid("mine", 1)]).SerializeToString())
    with pytest.raises(InputError, match=r"node 'e' is mine\.Evil: a custom operator"):
        read_onnx(file, Asked(batch=3))
    file.write_bytes(b"no protobuf at all")
    with pytest.raises(InputError, match="no ONNX file, or a damaged one"):
        read_onnx(file)
