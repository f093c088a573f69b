"""The tutorials among the examples run from top to bottom in a real kernel, and are kept without what they put out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.notebook.kernels import kernel, outputs, run

__all__ = ["kernel"]  # a fixture
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def why_in_a_notebook(cells: list[Any]) -> None:
    first, second = (cell for cell in cells if cell["source"].startswith("%%why"))
    for cell in (first, second):
        assert "Tesla T4" in outputs(cell, "text/plain")
        assert "<table>" in outputs(cell, "text/html")
        assert "≈" in outputs(cell, "text/plain")
    assert "[launch_bound]" in outputs(first, "text/plain")
    assert "cell.py" in outputs(first, "text/plain")


def watch_a_loop(cells: list[Any]) -> None:
    shown = next(cell for cell in cells if cell["source"] == "seen")
    assert "100 steps on cpu" in outputs(shown, "text/plain")
    assert "<table>" in outputs(shown, "text/html")
    assert "input" in outputs(shown, "text/plain")
    again = cells[-2]
    assert "100 steps, " in outputs(again, "text/plain")
    assert "backward" in outputs(again, "text/plain")
    assert "input" not in outputs(again, "text/plain")


def pick_a_device(cells: list[Any]) -> None:
    explained = next(cell for cell in cells if cell["source"] == "breakeven.pick.explain()")
    assert "cpu" in outputs(explained, "text/plain")
    timed = next(cell for cell in cells if cell["source"].startswith("%%time_devices"))
    assert "a call" in outputs(timed, "text/plain")
    assert "<table>" in outputs(timed, "text/html")


CHECKS: dict[str, Callable[[list[Any]], None]] = {
    check.__name__: check for check in (why_in_a_notebook, watch_a_loop, pick_a_device)
}


def test_each_notebook_has_a_check() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_a_notebook_is_kept_without_what_it_put_out(name: str) -> None:
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("name", CHECKS)
def test_a_notebook_runs_from_top_to_bottom(name: str, tmp_path: Path) -> None:
    notebook = nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)
    CHECKS[name](run(notebook, tmp_path))
