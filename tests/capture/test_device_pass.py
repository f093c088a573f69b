"""A real accelerator that is found after the CPU pass: the script runs on it as it is, and each step waits for its work."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from breakeven.errors import ScriptFailed
from tests.capture.sources import training

BUSY_NS = 5_000_000
#: Stands in for a backend's `synchronise`: the work that was queued takes so long.
STAND_IN = f"""\
import time
def synchronise():
    end = time.perf_counter_ns() + {BUSY_NS}
    while time.perf_counter_ns() < end:
        pass
"""
#: Names an accelerator, and runs where there is one or not.
EITHER = """\
import torch
net = torch.nn.Linear(4, 4)
try:
    net = net.to("cuda")
except (AssertionError, RuntimeError):
    pass
place = next(net.parameters()).device
sgd = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(40):
    net(torch.ones(8, 4).to(place)).square().mean().backward()
    sgd.step()
"""
NAMES_NONE = EITHER.replace('net = net.to("cuda")', "pass")
Run = Callable[..., CaptureResult]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Captures a script on a machine where the look for an accelerator gives this."""
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))

    def captured(source: str, found: str | None, passes: tuple[str, ...] = ("cpu",)) -> CaptureResult:
        (tmp_path / "train.py").write_text(source)
        asked = CaptureRequest("train.py", cwd=str(tmp_path), steps=5, passes=passes, show_output=False)
        return capture(asked, after_timing=lambda: found)

    return captured


@pytest.mark.slow
def test_a_script_that_names_an_accelerator_is_timed_on_it_and_waited_for(run: Run) -> None:
    result = run(EITHER, "stand_in:synchronise")
    assert result.error() is None
    assert result.cpu is not None
    assert result.cpu.named_devices == ("cuda",)
    assert result.device is not None
    assert result.device.principal is not None
    assert result.device.principal.device == "cuda"
    assert min(result.device.principal.samples_ns) >= BUSY_NS


@pytest.mark.slow
@pytest.mark.parametrize(("source", "found"), [(EITHER, None), (NAMES_NONE, "stand_in:synchronise")])
def test_without_an_accelerator_or_a_script_that_names_one_there_is_no_such_pass(
    run: Run, source: str, found: str | None
) -> None:
    assert run(source, found).device is None


@pytest.mark.slow
def test_a_script_that_fails_on_the_accelerator_alone_is_recorded_all_the_same(run: Run) -> None:
    """Where it fails there (two devices that meet, memory that runs out), the recording says more than the failure does."""
    fails = training().replace('torch.ones(8, 4, device="cuda")', "torch.ones(8, 4)")
    result = run(fails, "stand_in:synchronise", ("cpu", "virtual"))
    assert result.device is not None
    assert result.device.end.how == "exception"
    assert result.virtual is not None
    assert result.virtual.stream is not None
    assert "device_mismatch" in result.virtual.facts
    error = result.error()
    assert isinstance(error, ScriptFailed)
    assert "on the accelerator before its first step ended" in str(error)
