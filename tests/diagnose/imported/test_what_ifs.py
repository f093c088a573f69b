"""What-ifs on imported traces: the schedule as recorded, edited, and played again."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from tests.readers import made

from breakeven.diagnose.imported.evidence import TraceEvidence, evidence_from
from breakeven.diagnose.imported.other_gpu import ratios
from breakeven.diagnose.imported.own_times import own_times
from breakeven.diagnose.imported.what_if import WhatIf, scaled
from breakeven.errors import UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.readers import read
from breakeven.results.traced import TraceReport
from breakeven.simulate import Engine
from breakeven.workflows.trace import TraceRequest, trace

Event = dict[str, Any]
A100, T4 = find_gpu("A100-SXM4-80GB"), find_gpu("t4")


def played(path: pathlib.Path, events: list[Event]) -> WhatIf:
    """A trace of these events, played as it is."""
    (one,), _ = read([made.kineto(path, events)])
    evidence: TraceEvidence = evidence_from(one.timeline, one.devices, one.shapes)
    own = own_times(evidence)
    assert own is not None
    return WhatIf.of(own, evidence)


def with_waits(events: list[Event], steps: int) -> list[Event]:
    """The host waits for the device at the end of each step's work, in a function of the user's, and goes on 100 µs later."""
    for step in range(steps):
        at = 1.0e6 + step * made.STEP_US
        thread = {"ph": "X", "pid": 1, "tid": 1, "args": {}}
        events += [
            {**thread, "cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": at + 320, "dur": 380},
            {**thread, "cat": "python_function", "name": "train.py(31): step", "ts": at + 1, "dur": 890},
        ]
        for kernel in [e for e in events if e.get("cat") == "kernel"][3 * step + 2 : 3 * step + 3]:
            kernel.update(dur=made.STEP_US * 0.4)
    return events


def asked(path: pathlib.Path, events: list[Event], **request: Any) -> TraceReport:
    return trace(TraceRequest((made.kineto(path, events),), **request))[0]


def test_without_the_loader_a_step_is_shorter_by_the_loader(tmp_path: pathlib.Path) -> None:
    """Half of each step is the loader's, and the device has nothing to do meanwhile."""
    gain = played(tmp_path / "t.json", made.kineto_events(6, loader_us=500)).gain("loader_workers")
    assert gain is not None
    assert gain.mid == pytest.approx(0.5, rel=0.1)


def test_without_a_wait_that_nothing_follows_nothing_is_saved(tmp_path: pathlib.Path) -> None:
    """No call waits: the remedy of waits saves nothing."""
    gain = played(tmp_path / "t.json", made.kineto_events(6)).gain("metrics_on_device")
    assert gain is not None
    assert gain.mid == pytest.approx(0.0, abs=1e-6)


def test_a_line_that_waits_is_priced_by_playing_the_trace_without_it(tmp_path: pathlib.Path) -> None:
    """The line is the function's that holds the wait, and its price is what the remedy saves as a whole."""
    report = asked(tmp_path / "t.json", with_waits(made.kineto_events(6, loader_us=0), 6), what_if=True)
    waits = next(f for f in report.findings if f.id == "sync_bound")
    gain = next(r.gain_ms for r in report.remedies if r.id == "metrics_on_device")
    assert [(site.file, site.line) for site in waits.sites] == [("train.py", 31)]
    assert gain is not None
    assert waits.sites[0].price_ms is not None
    assert waits.sites[0].price_ms.mid == pytest.approx(gain.mid)
    assert 0.02 <= gain.mid <= 0.4


@pytest.mark.parametrize("name", ["Memcpy HtoD (Pageable -> Device)", "CopyHostToDevice", "Memcpy H2D", "memcpy host-to-device"])
def test_a_copy_goes_to_the_device_however_its_profiler_names_it(tmp_path: pathlib.Path, name: str) -> None:
    """It takes the engine of copies to the device."""
    events = made.kineto_events(6, loader_us=0)
    copies = [e for e in events if e.get("cat") == "kernel"][::3]
    for event in copies:
        event.update(cat="gpu_memcpy", name=name, dur=made.STEP_US * 0.7)
    one = played(tmp_path / "t.json", events)
    assert int((one.own.schedule.engine == Engine.H2D).sum()) == len(copies)


def test_the_same_device_takes_the_same_time(tmp_path: pathlib.Path) -> None:
    """At the middle: the intervals of the prices stay."""
    one = played(tmp_path / "t.json", made.kineto_events(6))
    found = ratios(one.evidence, A100, A100)
    assert np.allclose(found[1], 1.0)
    assert scaled(one, found).mid == pytest.approx(one.evidence.step_ms.mid)


def test_a_slower_device_takes_longer_where_it_is_the_step(tmp_path: pathlib.Path) -> None:
    """A busy device: the step grows as its kernels do."""
    events = made.kineto_events(6, loader_us=0)
    for at, kernel in enumerate(e for e in events if e.get("cat") == "kernel"):
        kernel.update(ts=1.0e6 + 40 + at * made.STEP_US / 3, dur=made.STEP_US / 3)
    one = played(tmp_path / "t.json", events)
    found = ratios(one.evidence, A100, T4)
    step = scaled(one, found)
    kernels = found[1, one.evidence.on_device.at]
    assert (kernels > 1.2).all()
    assert step.mid == pytest.approx(one.evidence.step_ms.mid * kernels.mean(), rel=0.15)
    assert step.low <= step.mid <= step.high


def test_another_gpu_stands_beside_the_recorded_one(tmp_path: pathlib.Path) -> None:
    """The recorded device first, as measured; the other predicted."""
    report = asked(tmp_path / "t.json", made.kineto_events(6), gpus=("t4",))
    assert [(d.name, d.source) for d in report.devices] == [("NVIDIA A100-SXM4-80GB", "measured"), ("Tesla T4", "predicted")]
    assert report.devices[1].step_ms is not None


def test_a_device_that_the_trace_does_not_name_is_not_compared(tmp_path: pathlib.Path) -> None:
    """No prediction, and why."""
    path = tmp_path / "t.json"
    made.kineto(path, made.kineto_events(6), deviceProperties=[])
    report = trace(TraceRequest((path,), gpus=("t4",)))[0]
    assert report.devices[1].step_ms is None
    assert "Tesla T4" in report.warnings[-1]


def test_an_unknown_gpu_is_refused(tmp_path: pathlib.Path) -> None:
    """With the nearest names."""
    with pytest.raises(UnknownDevice):
        asked(tmp_path / "t.json", made.kineto_events(3), gpus=("no such gpu",))
