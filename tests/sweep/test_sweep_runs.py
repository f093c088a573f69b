"""A whole sweep of a small script: run, kept, resumed without running anything again, and shown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import breakeven
from breakeven import cli, store
from breakeven.capture import run as capture_run
from breakeven.measure.disturbance import Load
from breakeven.sweep.block import compute
from breakeven.sweep.engines.task import Done, Task
from breakeven.sweep.job import Timed, time_cell
from breakeven.workflows import sweep as workflow

SCRIPT = """
import torch
HIDDEN = 32
def make(batch=64):
    return torch.randn(batch, HIDDEN), torch.nn.Linear(HIDDEN, HIDDEN).to("cuda")
x, net = make()
x = x.to("cuda")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5000):
    optimizer.zero_grad()
    torch.tanh(net(x)).mean().backward()
    optimizer.step()
"""


class Nothing:
    """An engine that only prices: whatever else is asked of it was not kept."""

    def run(self, tasks: Any) -> Any:
        for task in tasks:
            assert isinstance(task, Task)
            assert task.function is compute, task.key
            yield Done(task.key, compute(*task.arguments))

    def close(self) -> None:
        pass


class Here:
    """An engine that runs everything in this process, with the clock's readings replaced: a busy machine changes no answer."""

    def run(self, tasks: Any) -> Any:
        for task in tasks:
            value = task.function(*task.arguments)
            yield Done(task.key, steady(value) if task.function is time_cell else value)

    def close(self) -> None:
        pass


def steady(timed: Timed) -> Timed:
    """Steps of 2 ms, whatever they took."""
    assert timed.timed is not None, timed.error
    assert timed.timed.principal is not None
    principal = replace(timed.timed.principal, samples_ns=(9_000_000, *[2_000_000] * 20), input_wait_ns=(0,) * 21, warmup=1)
    return Timed(replace(timed.timed, principal=principal, groups=(principal,)), Load(1.0, 0.0))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps run in this process, and children have all the time that they need."""
    monkeypatch.setattr(workflow, "engine_of", lambda request: Here())
    monkeypatch.setattr(capture_run, "FIRST_STEP_S", 900.0)
    monkeypatch.setattr(capture_run, "ALTOGETHER_S", 900.0)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_sweep_is_run_kept_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    script, out = tmp_path / "train.py", tmp_path / "run"
    script.write_text(SCRIPT)
    call = ["sweep", str(script), "--vary", "hidden=32,64,128", "--vary", "batch=16,64", "--measure", "3", "--gpu", "t4"]
    call += ["--host", "colab", "--seconds", "0.2", "-q", "--out", str(out), "--json", str(tmp_path / "a.json")]
    assert cli.main([*call, "--html", str(tmp_path / "a.html"), "--picture", str(tmp_path / "a.svg")]) == 0
    page = capsys.readouterr().out
    said = json.loads((tmp_path / "a.json").read_text())
    check_answer(said, page)
    assert script.read_text() == SCRIPT
    assert b"<svg" in (tmp_path / "a.html").read_bytes()
    table = pl.read_parquet(out / "cells.parquet")
    assert table.height == 12
    assert store.open(str(out)).head.finished

    monkeypatch.setattr(workflow, "engine_of", lambda request: Nothing())
    again = [*call[:-1], str(tmp_path / "b.json"), "--resume"]
    assert cli.main(again) == 0
    assert json.loads((tmp_path / "b.json").read_text())["cells"] == said["cells"]
    assert cli.main(call) == 2
    assert "--resume" in capsys.readouterr().err


def check_answer(said: dict[str, Any], page: str) -> None:
    assert said["schema"] == "breakeven/sweep/1"
    assert [(p["name"], p["kind"], p["today"]) for p in said["parameters"]] == [
        ("hidden", "constant", 32), ("batch", "default", 64),
    ]  # fmt: skip
    assert said["runs"] == {"cells": 6, "timed": 3, "recorded": 4, "failed": 0}
    assert [c["values"] for c in said["cells"]][:2] == [{"hidden": 32, "batch": 16}, {"hidden": 32, "batch": 64}]
    sources = [d["source"] for c in said["cells"] for d in c["devices"] if d["name"] == "cpu"]
    assert sorted(sources) == ["interpolated"] * 3 + ["measured"] * 3
    assert all(d["source"] == "predicted" for c in said["cells"] for d in c["devices"] if d["name"] != "cpu")
    assert all(d["step_ms"]["low"] <= d["step_ms"]["mid"] <= d["step_ms"]["high"] for c in said["cells"] for d in c["devices"])
    assert {c["parameter"] for c in said["crossings"]} == {"hidden", "batch"}
    assert "law (exact sizes) holds" in page
    assert [c["batch"] for c in said["cells"]] == [16, 64] * 3


def make_step(width: int) -> Any:
    """A step for the sweep from Python."""
    import torch

    net, x = torch.nn.Linear(width, width).to("cuda"), torch.randn(32, width).to("cuda")
    return lambda: torch.tanh(net(x)).sum().backward()


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_sweep_is_called_from_python() -> None:
    report = breakeven.sweep(make_step, {"width": [16, 64]}, ["cpu", "t4"], host="colab", seconds=0.2)  # type: ignore[operator]
    assert [dict(c.values) for c in report.cells] == [{"width": 16}, {"width": 64}]
    assert {d.name for c in report.cells for d in c.devices} == {"cpu", "Tesla T4"}


@pytest.mark.parametrize(
    ("step", "grid", "says"),
    [
        (lambda width: None, {"width": [1]}, "top of a module"),
        (make_step, {"height": [1]}, "takes no 'height'; it takes width"),
        (make_step, {}, "nothing to vary"),
        (make_step, {"width": []}, "list of values"),
    ],
)
def test_what_cannot_be_swept_from_python_is_said(step: Any, grid: Any, says: str) -> None:
    from breakeven.errors import InputError

    with pytest.raises(InputError, match=says):
        breakeven.sweep(step, grid)  # type: ignore[operator]


def test_a_second_sweep_into_one_folder_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script, out = tmp_path / "train.py", tmp_path / "run"
    script.write_text(SCRIPT)
    asked = workflow.SweepRequest(str(script), ("hidden=32,64",), out=str(out))
    with workflow._parts(asked, workflow.ask(asked)):
        assert cli.main(["sweep", str(script), "--vary", "hidden=32,64", "--out", str(out), "--resume", "-q"]) == 2
    error = capsys.readouterr().err
    assert len(error.strip().splitlines()) == 1
    assert str(out) in error


@pytest.mark.slow
def test_a_script_that_fails_in_every_cell_is_exit_3_and_leaves_a_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script, out = tmp_path / "train.py", tmp_path / "a.json"
    script.write_text("HIDDEN = 3\nraise RuntimeError(f'no {HIDDEN}')\n")
    assert cli.main(["sweep", str(script), "--vary", "hidden=5", "-q", "--json", str(out)]) == 3
    assert "no 5" in capsys.readouterr().err
    said = json.loads(out.read_text())
    assert (said["failed"], said["cells"]) == ("script-failed", [])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "nothing to vary"),
        (["--vary", "hidden"], "NAME=LO:HI"),
        (["--vary", "depth=1,2"], "no parameter of that name"),
        (["--vary", "hidden=1,2", "--gpu", "nonsense9"], "no device is called"),
        (["--vary", "hidden=1,2", "--engine", "slurm"], "there are local, ray"),
        (["--vary", "hidden=1,2", "--address", "auto"], "--engine ray"),
        (["--vary", "hidden=1,2", "--resume"], "--out"),
        (["--vary", "hidden=1,2", "--measure", "0"], "at least 1"),
        (["--vary", "hidden=1,2", "--picture", "x.gif"], ".svg or .png"),
        (["--vary", "hidden=1,2", "--prices", "nowhere.csv"], "cannot be read"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_2(
    options: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    assert cli.main(["sweep", str(script), *options]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1
