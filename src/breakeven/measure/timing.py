"""Times a request's target on its devices, in this process, and judges what was read."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from breakeven import __version__
from breakeven.measure import disturbance
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.contestant import Contestant, Patience, Reading
from breakeven.measure.judging import judged
from breakeven.measure.known import find_backend
from breakeven.measure.merits import Peaks, merits, peaks
from breakeven.measure.request import FUNCTION, TimeRequest
from breakeven.measure.stopwatch import OnProgress, measure
from breakeven.measure.targets import Target, make_target, of_function
from breakeven.results.timing import TimeReport, Timing


def time_request(request: TimeRequest, on_progress: OnProgress = lambda text: None) -> TimeReport:
    """Time what is asked for. What the user's own code raises comes through.

    Raises:
        InputError: the target is not there, or cannot be called so.
        NoAnswer: a device is not usable.
        MissingExtra: a built-in job without PyTorch.
    """
    backends = [find_backend(name) for name in dict.fromkeys(request.devices)]
    entries = [(backend, make_target(request, backend.device)) for backend in backends]
    return timed(request, entries, on_progress)


def time_function(function: Callable[..., object], request: TimeRequest) -> TimeReport:
    """Time a function of this process; as `time_request`."""
    backends = [find_backend(name) for name in dict.fromkeys(request.devices)]
    entries = [(backend, of_function(function, backend.device, several=len(backends) > 1)) for backend in backends]
    return timed(replace(request, kind=FUNCTION), entries)


def timed(
    request: TimeRequest, entries: Sequence[tuple[Backend, Target]], on_progress: OnProgress = lambda text: None
) -> TimeReport:
    """Let some targets take turns, and say what they take."""
    patience = Patience(seconds=request.seconds, precision=request.precision)
    contestants = [Contestant(backend.device, backend, target.run) for backend, target in entries]
    before = disturbance.now()
    readings = measure(contestants, patience, on_progress)
    busy = disturbance.busy_machine(before, disturbance.now())
    found = []
    for at, (reading, (backend, target)) in enumerate(zip(readings, entries, strict=True)):
        timing = judged(reading, patience, readings[0] if at else None)
        if busy is not None:
            timing = replace(timing, doubts=(busy, *timing.doubts))
        found.append(_with_work(timing, target, request, backend))
    return TimeReport(
        target=request.target, timings=tuple(found), seconds=_seconds(readings), warnings=(), machine=machine(),
        versions=versions(), failed="interrupted" if any(r.stopped == "interrupted" for r in readings) else None,
    )  # fmt: skip


def versions() -> dict[str, str]:
    """What bears on the numbers."""
    found = {"breakeven": __version__, "python": platform.python_version()}
    torch = sys.modules.get("torch")
    return {**found, "torch": str(torch.__version__)} if torch is not None else found


def machine() -> dict[str, object]:
    """Where it was measured."""
    from breakeven.machine.cores import usable_cores
    from breakeven.measure.probe import cpu_model

    torch = sys.modules.get("torch")
    threads = torch.get_num_threads() if torch is not None else None
    return {"cpu": cpu_model(), "cores": usable_cores(), "threads": threads}


def _with_work(timing: Timing, target: Target, request: TimeRequest, backend: Backend) -> Timing:
    """With figures of merit, and the energy of an epoch."""
    if timing.call_ms is None:
        return timing
    counted = target.flops or target.moved
    most = peaks(backend.device, timing.device_name, request.dtype) if counted else Peaks()
    over_link = request.target.startswith("copy_") and backend.asynchronous
    rates = merits(target, timing.call_ms.mid, most, over_link=over_link)
    epoch = timing.energy_j * target.epoch if timing.energy_j is not None and target.epoch else None
    return replace(timing, merits=rates, epoch_energy_j=epoch)


def _seconds(readings: Sequence[Reading]) -> float:
    return sum(sum(r.batch_ns) + sum(r.ends_ns) + sum(r.alone_ns) for r in readings) / 1e9
