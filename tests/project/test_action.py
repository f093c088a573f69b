"""The step for GitHub's workflows calls what is there, and hands a user's words on as data."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from breakeven.cli.app import load

ROOT = Path(__file__).resolve().parents[2]


def action() -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="the action is YAML")
    found: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return found


def test_no_input_is_pasted_into_a_shell_line() -> None:
    steps = action()["runs"]["steps"]
    assert [step["run"] for step in steps if "inputs." in step["run"]] == []


def test_each_option_that_it_gives_exists() -> None:
    run = action()["runs"]["steps"][1]["run"]
    for verb, line in re.findall(r"^breakeven (\w+) (.*)$", run, re.M):
        known = {option for param in load(verb).params for option in param.opts}
        assert set(re.findall(r"(?<= )--\w+", line.split(" -- ")[0])) <= known, verb


def test_it_runs_the_script_and_ends_as_the_gate_does(tmp_path: Path) -> None:
    stub = tmp_path / "breakeven"
    stub.write_text('#!/bin/sh\nprintf "%s|" "$@" >> "$RUNNER_TEMP/calls"; echo >> "$RUNNER_TEMP/calls"\n[ "$1" != gate ]\n')
    stub.chmod(0o755)
    asked = {"SCRIPT": "my train.py", "BASELINE": "base.json", "GPU": "t4", "TOLERANCE": "5", "ARGUMENTS": "--epochs 2"}
    environment = {**os.environ, **asked, "RUNNER_TEMP": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    run = subprocess.run(["bash", "-e", "-c", action()["runs"]["steps"][1]["run"]], env=environment, cwd=tmp_path)
    why, gate = (tmp_path / "calls").read_text().splitlines()
    assert run.returncode == 1
    assert why == f"why|my train.py|--gpu|t4|--json|{tmp_path}/now.json|--quiet|--|--epochs|2|"
    assert gate == f"gate|base.json|{tmp_path}/now.json|--device|t4|--tolerance|5|"
