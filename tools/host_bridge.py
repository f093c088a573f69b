"""Measures on this machine what ties the dispatch probe to the traces: small operations with and without the profiler."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from host_traces import observe

_ROUNDS, _CALLS = 60, 10


def measure_bridge() -> dict[str, Any]:
    """Profiler's cost per event, small operations' time inside their event per class, and the dispatch probe itself."""
    import torch

    from breakeven.measure.probe import dispatch_us

    torch.set_num_threads(1)
    excess, probes = [], []
    for _ in range(3):
        probes.append(dispatch_us())
        for call in _jobs(torch):
            wall, events = _profiled_us(torch, call)
            excess.append((wall - _loop_us(call)) / events)
    event_us = statistics.median(excess)
    return {
        "what": "least over rounds of small operations on a CPU, one thread, with and without torch.profiler; a tiny training under it",
        "torch": torch.__version__,
        "profiler_event_us": round(event_us, 3),
        "host_only_us": _tiny_training(torch, event_us),
        "dispatch_us": round(min(probes), 4),
    }


def _tiny_training(torch: Any, event_us: float) -> dict[str, float]:  # the module itself, imported by the caller
    """Views, allocations and pauses of a tiny multilayer perceptron's training, read as the public traces are."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    descent = torch.optim.SGD(net.parameters(), 0.01)
    rows, target = torch.randn(4, 8), torch.randn(4, 1)
    found: dict[str, list[float]] = {"view": [], "allocation": [], "gap": []}
    for _ in range(5):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recording:
            for _ in range(60):
                descent.zero_grad()
                torch.nn.functional.mse_loss(net(rows), target).backward()
                descent.step()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tiny.json"
            recording.export_chrome_trace(str(path))
            seen = observe(path)
        times = seen.class_us(event_us) | {"gap": seen.gap_us(event_us) or 0.0}
        for label, values in found.items():
            if times.get(label):
                values.append(times[label])
    return {label: round(min(values), 3) for label, values in found.items() if values}


def _jobs(torch: Any) -> tuple[Callable[[], object], ...]:  # the module itself, imported by the caller
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    return (lambda: a.view(64), lambda: a.t(), lambda: torch.zeros(8), lambda: a.mul(b), lambda: a.mm(b), lambda: a.clone())


def _loop_us(call: Callable[[], object]) -> float:
    """Least time per call over many short rounds: other load only ever adds."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for _ in range(_CALLS):
            call()
        best = min(best, time.perf_counter() - began)
    return best / _CALLS * 1e6


def _profiled_us(torch: Any, call: Callable[[], object]) -> tuple[float, float]:  # the module itself
    """Wall time per call under the profiler, and events per call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recording:
        wall = _loop_us(call)
    return wall, len(recording.events()) / (_ROUNDS * _CALLS)
