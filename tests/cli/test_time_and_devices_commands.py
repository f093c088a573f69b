"""`breakeven time` and `breakeven devices` as they are typed: what they print, write, and end with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 240


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No memory of other runs."""
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path / "home"))


def run(*call: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "breakeven", *call], capture_output=True, text=True, timeout=PATIENCE_S, cwd=cwd,
        stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **environment},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ([], "name one thing to time"),
        (["matmul", "-c", "pass"], "name one thing to time"),
        (["matmull"], "did you mean 'matmul'?"),
        (["matmul", "--device", "tpu"], "no device is called 'tpu'"),
        (["matmul", "--seconds", "0"], "must be a positive number"),
        (["matmul", "--precision", "nan"], "percent"),
        (["matmul", "--size", "0"], "at least 1"),
        (["matmul", "--setup", "x = 1"], "--setup belongs to -c"),
        (["-c", "pass", "--size", "3"], "belong to the built-in jobs"),
        (["matmul", "--tune-cpu", "--device", "cuda"], "--tune-cpu tunes the CPU"),
        (["nowhere_at_all:f"], "there is no module 'nowhere_at_all'"),
        (["json:nope"], "json has no 'nope'"),
        (["json:dumps"], "the function needs obj"),
        (["missing.py:f"], "there is no file 'missing.py'"),
        (["-c", "x ="], "invalid syntax"),
    ],
)
def test_a_wrong_call_gets_one_line_and_exit_2(call: list[str], said: str) -> None:
    done = run("time", *call)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert len(done.stderr) < 400


def test_code_is_timed_without_torch(tmp_path: Path) -> None:
    out = tmp_path / "time.json"
    done = run("time", "-c", "sum(numbers)", "--setup", "numbers = range(1000)", "--seconds", "0.5", "--json", str(out))
    assert done.returncode == 0, done.stderr
    assert "cpu" in done.stdout
    assert "a stopwatch around the first call" in done.stdout
    report = json.loads(out.read_text())
    (timing,) = report["timings"]
    assert report["schema"] == "breakeven/time/1"
    assert "torch" not in report["versions"]
    assert 0 < timing["call_ms"]["low"] <= timing["call_ms"]["mid"] <= timing["call_ms"]["high"] < 100
    assert timing["samples"] >= 3
    assert next(trap["caught"] for trap in timing["traps"]) is False  # nothing to forget on a CPU


def test_a_function_of_a_file_is_timed_and_its_set_up_is_not(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    (tmp_path / "mine.py").write_text(
        f"made = open({str(calls)!r}, 'a')\n"
        "def step(device):\n    made.write(str(device) + '\\n'); made.flush()\n    return lambda: sum(range(500))\n"
    )
    done = run("time", "mine.py:step", "--seconds", "0.3", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["target"] == "mine.py:step"
    assert calls.read_text() == "cpu\n"


def test_code_that_fails_shows_its_own_traceback_and_ends_with_3(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def step():\n    return 1 / 0\n")
    done = run("time", "mine:step", "--json", str(tmp_path / "out.json"), cwd=tmp_path)
    assert done.returncode == 3
    assert "in step" in done.stderr
    assert "stopwatch.py" not in done.stderr
    assert done.stderr.splitlines()[-1] == "breakeven: the code raised ZeroDivisionError: division by zero"
    assert json.loads((tmp_path / "out.json").read_text())["failed"] == "script-failed"


def test_code_that_ends_its_process_is_no_fault_of_ours() -> None:
    done = run("time", "-c", "import os; os._exit(9)")
    assert done.returncode == 4
    assert "exit code 9" in done.stderr


def test_a_device_that_is_not_here_ends_with_4() -> None:
    torch = pytest.importorskip("torch")
    if torch.xpu.is_available():
        pytest.skip("this machine has one")
    done = run("time", "-c", "pass", "--device", "xpu")
    assert done.returncode == 4
    assert "`breakeven devices` says why" in done.stderr


def test_a_built_in_job_has_a_rate_and_a_share_of_the_peak() -> None:
    pytest.importorskip("torch")
    done = run("time", "matmul", "--size", "64", "--seconds", "0.5", "--json", "-")
    assert done.returncode == 0, done.stderr
    (merit,) = json.loads(done.stdout)["timings"][0]["merits"]
    assert merit["unit"] == "GFLOP/s"
    assert merit["share"] == pytest.approx(merit["value"] / merit["peak"])


@pytest.mark.slow
def test_tuning_says_what_is_best_and_how_sure_it_is() -> None:
    pytest.importorskip("torch")
    done = run("time", "matmul", "--size", "256", "--tune-cpu", "--seconds", "3", "--json", "-")
    assert done.returncode == 0, done.stderr
    tuned = json.loads(done.stdout)["tuned"]
    assert tuned["sentence"]
    assert tuned["rejected"]["channels last"] == "the target has no images that could be stored so"
    assert (tuned["gain"] is None) == (tuned["settings"] == [])
    if tuned["proven"]:
        assert tuned["gain"]["low"] > 1


def test_devices_without_a_gpu_ends_with_4_and_says_why_in_a_line(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    if torch.accelerator.is_available():
        pytest.skip("this machine has an accelerator")
    out = tmp_path / "devices.json"
    done = run("devices", "--json", str(out))
    assert done.returncode == 4
    assert "Why: " in done.stdout
    assert "Fix: " in done.stdout
    assert len(done.stderr.splitlines()) == 1
    report = json.loads(out.read_text())
    assert report["schema"] == "breakeven/devices/1"
    assert report["usable"] is False
    assert report["causes"][0]["id"]
    assert report["host"]["cores"] >= 1
    assert report["torch"]["version"] == str(torch.__version__)
