"""The stopwatch, the traps and the devices on a real accelerator: `make test-gpu`. Skips, saying so, where there is none."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import breakeven
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.contestant import Contestant, Patience
from breakeven.measure.judging import judged
from breakeven.measure.known import present_backends
from breakeven.measure.request import JOB, TimeRequest
from breakeven.measure.stopwatch import measure
from breakeven.measure.timing import time_request
from breakeven.results.timing import Timing

pytestmark = pytest.mark.gpu

SIZE = 4096


@pytest.fixture
def device() -> Iterator[Backend]:
    found = [backend for backend in present_backends() if backend.device != "cpu"]
    if not found:
        pytest.skip("no accelerator that PyTorch can use is here (`breakeven devices` says why)")
    yield found[0]
    found[0].synchronise()


def product(device: Backend) -> Callable[[int], None]:
    """A product of matrices that takes far longer than its launch."""
    left, right = (torch.ones(SIZE, SIZE, device=device.device) for _ in range(2))

    def run(times: int) -> None:
        for _ in range(times):
            left @ right

    return run


def timed(device: Backend, run: Callable[[int], None], seconds: float = 3.0) -> Timing:
    patience = Patience(seconds=seconds)
    (reading,) = measure([Contestant(device.device, device, run)], patience)
    return judged(reading, patience)


def test_it_has_a_name_a_clock_and_says_why_it_is_slow_or_nothing(device: Backend) -> None:
    assert device.is_present()
    assert device.name()
    assert device.clock_ns() <= device.clock_ns()
    assert device.slowed() in (None, "thermal", "power")
    energy = device.energy_j()
    assert energy is None or energy > 0


def test_a_missing_synchronise_is_caught(device: Backend) -> None:
    timing = timed(device, product(device))
    trap = next(trap for trap in timing.traps if trap.id == "not_synchronised")
    assert trap.caught
    assert timing.call_ms is not None
    assert trap.ms is not None
    assert trap.ms < 0.5 * timing.call_ms.mid


def test_the_time_of_a_product_is_that_of_the_devices_own_events(device: Backend) -> None:
    if not device.device.startswith("cuda"):
        pytest.skip("events with times are asked of CUDA only")
    run = product(device)
    timing = timed(device, run)
    began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    began.record()  # type: ignore[no-untyped-call]
    run(50)
    ended.record()  # type: ignore[no-untyped-call]
    device.synchronise()
    own = began.elapsed_time(ended) / 50  # type: ignore[no-untyped-call]
    assert timing.call_ms is not None
    assert timing.call_ms.mid == pytest.approx(own, rel=0.05)


def test_twice_the_work_takes_twice_the_time(device: Backend) -> None:
    run = product(device)
    one = timed(device, run)
    two = timed(device, lambda times: run(2 * times))
    assert one.call_ms is not None
    assert two.call_ms is not None
    assert two.call_ms.mid / one.call_ms.mid == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("job", ["matmul", "copy_h2d", "copy_h2d_pinned", "copy_d2h", "copy_d2h_pinned", "launch", "lstm"])
def test_every_built_in_job_runs_beside_the_cpu(device: Backend, job: str) -> None:
    names = ("cpu", device.device) if job in ("matmul", "launch", "lstm") else (device.device,)
    report = time_request(TimeRequest(job, JOB, devices=names, seconds=2.0))
    assert [timing.error for timing in report.timings] == [None] * len(names)
    assert all(timing.call_ms is not None and timing.call_ms.low > 0 for timing in report.timings)


def test_pick_takes_the_accelerator_for_large_products_and_says_why(
    device: Backend, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BREAKEVEN_HOME", str(tmp_path))
    model = torch.nn.Linear(SIZE, SIZE)
    assert breakeven.pick(model, torch.ones(SIZE, SIZE)).type == device.device.partition(":")[0]


def test_devices_says_that_it_is_usable(device: Backend) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "breakeven", "devices", "--json", "-"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    assert any(one["usable"] for one in json.loads(done.stdout)["accelerators"])


def test_why_measures_the_device_that_is_here(device: Backend, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "why.json"
    call = [sys.executable, "-m", "breakeven", "why", str(root / "examples" / "char_rnn.py"), "--json", str(out), "-q"]
    done = subprocess.run(call, capture_output=True, text=True, stdin=subprocess.DEVNULL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    sources = {one["kind"]: one["source"] for one in json.loads(out.read_text())["devices"]}
    assert sources["gpu"] == "measured"
