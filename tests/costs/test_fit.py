"""The data files are what the recorded command makes of the public measurements."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("BREAKEVEN_SHARED", ROOT.parent / "shared")) / "data" / "ops"
STORED = ROOT / "src" / "breakeven" / "costs" / "data"


def test_every_data_file_records_the_command_and_the_sources() -> None:
    files = sorted(f for f in STORED.glob("*.json") if f.name != "host.json")
    assert len(files) == 6
    for file in files:
        stored = json.loads(file.read_text())
        assert stored["command"].startswith("python tools/fit_costs.py")
        assert stored["sources"]


def test_no_weight_is_negative() -> None:
    for file in STORED.glob("*.json"):
        for variant in json.loads(file.read_text()).get("variants", {}).values():
            for model in variant["models"].values():
                assert all(w > 0.0 for kind in ("compute", "traffic", "fixed") for w in model[kind].values())
                assert all(0.0 < low <= 1.0 <= high for low, high in zip(model["low"], model["high"], strict=True))


@pytest.mark.skipif(not DATA.is_dir(), reason=f"the public measurements are not here: {DATA}")
@pytest.mark.parametrize(
    "variant", ["gemm", "recurrent.forward", "conv2d.backward_params", "copy_h2d.pinned", "relu1", "softmax"]
)
def test_fitting_again_gives_the_stored_weights(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("scipy")
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import fit_costs
    from fitting.measurements import read

    ((name, again),) = fit_costs.fit(read(DATA), variant).items()
    stored = json.loads((STORED / f"{name}.json").read_text())["variants"]
    fitted = json.loads(json.dumps(again))
    for one, model in fitted[variant]["models"].items():
        for kind in ("compute", "traffic", "fixed"):
            assert model[kind] == pytest.approx(stored[variant]["models"][one][kind], rel=0.02, abs=1e-3), (one, kind)
        assert model["high"] == pytest.approx(stored[variant]["models"][one]["high"], rel=0.02), one
