"""A script that asks for a sweep at its top, without `if __name__ == "__main__"`, is not run again by what the sweep starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import breakeven
from breakeven.sweep import SCRIPT
from breakeven.sweep.step_runner import load

ASKS = """
import breakeven

def make_step(batch):
    return lambda: batch

breakeven.sweep(make_step, {"batch": [1, 2]}, ["t4"])
raise AssertionError("the script ran on")
"""
WORKS = """
import sys
from pathlib import Path
from breakeven.sweep.engines.local import Local
from breakeven.sweep.engines.task import Task

with Path("runs").open("a") as runs:
    runs.write("run\\n")
local = Local(1)
print([done.value for done in local.run([Task("a", abs, (-1,), exclusive=True), Task("b", abs, (-2,))])])
local.close()
"""


def test_it_is_read_for_its_function_as_far_as_it_asks_for_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.py").write_text(ASKS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        assert load(f"{tmp_path / 'job.py'}:make_step", str(tmp_path))(3)() == 3
    finally:
        del sys.modules[SCRIPT]
    assert callable(breakeven.sweep)


def test_workers_do_not_run_it(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(WORKS)
    done = subprocess.run([sys.executable, "job.py"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == "[1, 2]\n"
    assert (tmp_path / "runs").read_text() == "run\n"
