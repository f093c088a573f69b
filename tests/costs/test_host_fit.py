"""The host model's file is what its command makes of the traces."""

from __future__ import annotations

import json
import os
import sys
from importlib.resources import files
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRACES = Path(os.environ.get("BREAKEVEN_SHARED", ROOT.parent / "shared")) / "traces"


@pytest.mark.slow
def test_the_fit_gives_the_constants_that_are_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    if not TRACES.is_dir():
        pytest.skip("the public traces are not beside this checkout")
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    import fit_host

    shipped = json.loads(files("breakeven.costs").joinpath("data/host.json").read_text(encoding="utf-8"))
    observed = {name: fit_host.observe(TRACES / name) for name in shipped["sources"]}
    assert fit_host.fit(observed, shipped["bridge"]) == shipped


def test_the_profile_orders_operations_as_everybody_knows_them() -> None:
    shipped = json.loads(files("breakeven.costs").joinpath("data/host.json").read_text(encoding="utf-8"))
    classes = shipped["classes_us"]
    assert classes["view"] < classes["pointwise"] < classes["product"] < classes["convolution_backward"]
    assert shipped["scales"][shipped["reference"]] == 1.0
    assert 4.0 <= shipped["launch_us"] <= 8.0  # median cudaLaunchKernel of real traces
