"""Notebooks executed by a real kernel of this Python, and what their cells put out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


def executed(*cells: str) -> list[Any]:  # nbformat's cells have no types
    """The cells of a notebook that was run from top to bottom, with their outputs; an error in a cell is one here."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return run(notebook, ROOT)


def run(notebook: Any, folder: Path) -> list[Any]:
    """As `executed`."""
    os.environ.setdefault("JUPYTER_PLATFORM_DIRS", "1")
    client = NotebookClient(notebook, timeout=400, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
    return list(notebook.cells)


def outputs(cell: Any, kind: str) -> str:
    """All that a cell put out of one kind."""
    found = [o["data"].get(kind, "") for o in cell["outputs"] if "data" in o]
    return "\n".join([*found, *(o["text"] for o in cell["outputs"] if o["output_type"] == "stream")])


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of this Python, whatever kernels are installed, and a home of its own."""
    folder = tmp_path / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    call = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (folder / "kernel.json").write_text(json.dumps({"argv": call, "display_name": "python", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path / "home"))
