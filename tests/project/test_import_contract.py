"""The rooms import downwards only, and the pure core stays pure."""

from __future__ import annotations

import subprocess
import sys

import pytest
from importlinter.cli import lint_imports

from tests.project.sources import MODULES, ROOT, dotted

CORE = ("errors", "units", "timeline", "stats", "machine", "results", "costs", "simulate", "whatif", "diagnose")
HEAVY = (
    "torch",
    "rich",
    "typer",
    "jinja2",
    "altair",
    "ray",
    "libcst",
    "pandas",
)  # subprocess comes with polars; the contract forbids it to us


def test_the_import_contract_holds(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What `.importlinter` declares is true of the code."""
    monkeypatch.chdir(ROOT)
    code = lint_imports(config_filename=str(ROOT / ".importlinter"), no_cache=True, no_logo=True)
    assert code == 0, capsys.readouterr().out


def test_the_package_itself_imports_nothing() -> None:
    """`import breakeven` is free: its names are handed on lazily."""
    code = "import sys; old = set(sys.modules); import breakeven; print(*sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {m for m in done.stdout.split() if m.partition(".")[0] in {"polars", "numpy", "msgspec", *HEAVY}} == set()


def test_the_pure_core_loads_no_framework() -> None:
    """Not even through another module: importing every module of the core brings in none of the heavy ones."""
    core = [m for m in map(dotted, MODULES) if m.count(".") and m.split(".")[1] in CORE]
    code = f"import importlib, sys\nfor m in {core!r}: importlib.import_module(m)\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(HEAVY) & set(done.stdout.split()) == set()
