"""The data files are what the recorded command makes of the public measurements."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("BREAKEVEN_SHARED", ROOT.parent / "shared")) / "data" / "ops"
STORED = ROOT / "src" / "breakeven" / "costs" / "data"
#: The fits of kernels; the host's has its own command and test.
KERNELS = [file for file in sorted(STORED.glob("*.json")) if file.stem != "host"]


def test_every_data_file_records_the_command_and_the_sources() -> None:
    assert {file.stem for file in KERNELS} == {"conv2d", "copies", "elementwise", "matmul", "recurrent", "rows"}
    for file in KERNELS:
        stored = json.loads(file.read_text())
        assert stored["command"].startswith("python tools/fit_costs.py")
        assert stored["sources"]


def test_no_weight_is_negative() -> None:
    for file in KERNELS:
        for variant in json.loads(file.read_text())["variants"].values():
            for model in variant["models"].values():
                assert all(w > 0.0 for kind in ("compute", "traffic", "fixed") for w in model[kind].values())
                assert all(0.0 < low <= 1.0 <= high for low, high in zip(model["low"], model["high"], strict=True))


@pytest.fixture
def fit_costs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The command, as its own script finds it."""
    pytest.importorskip("scipy")
    if not DATA.is_dir():
        pytest.skip(f"the public measurements are not here: {DATA}")
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    return importlib.import_module("fit_costs")


def same(again: dict[str, Any], stored: dict[str, Any]) -> None:
    """The models of a variant, fitted again on what may be another machine."""
    assert again["axes"] == stored["axes"]
    assert again["models"].keys() == stored["models"].keys()
    for key, model in again["models"].items():
        want = stored["models"][key]
        for kind in ("compute", "traffic", "fixed"):
            assert model[kind] == pytest.approx(want[kind], rel=0.02, abs=1e-3), (key, kind)
        for side in ("low", "high"):
            assert model[side] == pytest.approx(want[side], rel=0.02), (key, side)
        assert ("table" in model) == ("table" in want), key
        assert model.get("table", []) == pytest.approx(want.get("table", []), abs=15), key  # thousandths of a logarithm


@pytest.mark.parametrize(
    "variant", ["gemm", "recurrent.forward", "conv2d.backward_params", "copy_h2d.pinned", "relu1", "softmax"]
)
def test_fitting_again_gives_the_stored_weights(variant: str, fit_costs: ModuleType) -> None:
    ((name, again),) = fit_costs.fit(fit_costs.read(DATA), variant).items()
    same(json.loads(json.dumps(again))[variant], json.loads((STORED / f"{name}.json").read_text())["variants"][variant])


@pytest.mark.nightly
def test_the_whole_command_makes_every_data_file_again(
    fit_costs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fit_costs.py", "--data", str(DATA), "--out", str(tmp_path)])
    fit_costs.main()
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in KERNELS}
    for file in KERNELS:
        again, stored = (json.loads(path.read_text()) for path in (tmp_path / file.name, file))
        assert {k: v for k, v in again.items() if k != "variants"} == {k: v for k, v in stored.items() if k != "variants"}
        assert again["variants"].keys() == stored["variants"].keys()
        for variant, models in again["variants"].items():
            same(models, stored["variants"][variant])
