"""A probe that fails costs a warning and a wider interval, never the answer."""

from __future__ import annotations

import subprocess
from typing import Any

import msgspec
import pytest

from breakeven.machine.records import Cpu
from breakeven.measure.disturbance import Moment
from breakeven.workflows import probing

KNOWN = Cpu("EPYC", 2, 2, 80.0, 12.0, 7.5)


def answer(monkeypatch: pytest.MonkeyPatch, said: bytes | BaseException) -> list[dict[str, Any]]:
    """Lets the child say this, or fail so; what it was called with."""
    calls: list[dict[str, Any]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        calls.append({"command": command, **options})
        if isinstance(said, BaseException):
            raise said
        return subprocess.CompletedProcess(command, 0, said)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def test_what_the_child_measured_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answer(monkeypatch, msgspec.json.encode(KNOWN) + b"\n")
    assert probing.probed_cpu() == (KNOWN, ())
    (call,) = calls
    assert call["command"][1:] == ["-m", "breakeven.measure.probe"]
    assert (call["timeout"], call["stdin"]) == (probing.PATIENCE_S, subprocess.DEVNULL)


@pytest.mark.parametrize(
    "failure",
    [
        OSError("no more processes"),
        subprocess.CalledProcessError(1, ["python"]),
        subprocess.TimeoutExpired(["python"], probing.PATIENCE_S),
        b"",
        b"Traceback (most recent call last):",
        b'{"model": "EPYC"}',
    ],
    ids=["cannot-start", "fails", "hangs", "says-nothing", "says-no-json", "says-too-little"],
)
def test_a_probe_that_fails_leaves_its_figures_unknown_and_says_so(
    monkeypatch: pytest.MonkeyPatch, failure: bytes | BaseException
) -> None:
    answer(monkeypatch, failure)
    cpu, warnings = probing.probed_cpu()
    assert (cpu.peak_gflops, cpu.bandwidth_gb_s, cpu.dispatch_us) == (None, None, None)
    assert cpu.cores >= 1
    assert ["could not be probed" in warning for warning in warnings] == [True]


@pytest.mark.parametrize(("others_s", "warned"), [(0.0, False), (1.5, True)], ids=["alone", "beside others"])
def test_what_was_timed_beside_other_work_is_told(monkeypatch: pytest.MonkeyPatch, others_s: float, warned: bool) -> None:
    """A page once said "134 ms, measured ±4 %" of a step of 2 ms, and nothing of two other programs."""
    answer(monkeypatch, msgspec.json.encode(KNOWN))
    began = Moment(at=0.0, busy=0.0, stolen=0.0, own=0.0, cores=2)
    monkeypatch.setattr(probing, "now", lambda: Moment(1.0, busy=0.5 + others_s, stolen=0.0, own=0.5, cores=2))
    doubts = probing.probed(began).doubts
    assert [("While the script was timed" in one and "other work took 1.5" in one) for one in doubts] == [True] * warned
