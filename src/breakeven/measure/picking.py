"""Tries a step on every device for a moment, in turns, and says which is fastest. It knows nothing of what the step is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from breakeven.errors import NoAnswer
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.worker import Worker
from breakeven.results.picking import Pick, Trial
from breakeven.stats.bootstrap import bootstrap_median
from breakeven.units import NS_PER_MS, NS_PER_S

#: Makes the step for a device.
Make = Callable[[Backend], Callable[[], object]]

#: Seconds of trying: with the thread's start and end an answer is there within three.
SECONDS: Final = 2.5
#: Length of a batch of steps, long against a clock and a scheduler's slice of a busy machine.
_BATCH_NS: Final = 20_000_000
#: Rounds in which all devices take a turn: at least, and at most.
_FEWEST, _MOST = 3, 40


@dataclass
class _Tried:
    backend: Backend
    worker: Worker
    step: Callable[[], object] | None = None
    first_ns: int | None = None
    samples: list[float] = field(default_factory=list)
    steps: int = 0
    error: str | None = None
    unfinished: bool = False

    @property
    def step_ns(self) -> float | None:
        if self.error is not None or self.first_ns is None:
            return None
        return median(self.samples) if self.samples else float(self.first_ns)

    @property
    def runs(self) -> bool:
        return self.step is not None and self.error is None and not self.unfinished


def try_devices(backends: Sequence[Backend], make: Make, seconds: float = SECONDS) -> Pick:
    """Measure a few steps on each device and choose.

    Accelerators are set up first and the CPU last, so that a step which is left behind on one of them disturbs no other. A
    device on which the step raises is never chosen; where two are as fast, the one that was named first is.

    Args:
        backends: devices, the preferred ones first.
        make: makes the step for one of them; both it and the step may raise.
        seconds: time for all of them together.

    Raises:
        NoAnswer: the step fails on every device.
    """
    began = time.monotonic()
    with ExitStack() as stack:
        tried = [_Tried(backend, stack.enter_context(Worker())) for backend in backends]
        for at, one in enumerate(reversed(tried)):
            left = seconds - (time.monotonic() - began)
            _begin(one, make, left / (len(tried) - at))
        _rounds([one for one in tried if one.runs], began + seconds)
    return _chosen(tried, time.monotonic() - began)


def check_device(backend: Backend, make: Make, seconds: float = SECONDS) -> str | None:
    """Run one step on a device that was chosen earlier: what it raised, or None. One that is only slow today has not failed."""
    with Worker() as worker:
        one = _Tried(backend, worker)
        _begin(one, make, seconds)
    return one.error


def _begin(one: _Tried, make: Make, patience_s: float) -> None:
    """Make the step and run it once."""

    def first() -> tuple[Callable[[], object], int]:
        step = make(one.backend)
        return step, _timed(one.backend, step, 1)

    answer = one.worker.ask(first, patience_s)
    if answer is None:
        one.unfinished = True
    elif answer.error is not None:
        one.error = f"{type(answer.error).__name__}: {answer.error}".splitlines()[0][:300]
    elif answer.value is not None:
        one.step, one.first_ns = answer.value


def _rounds(running: list[_Tried], until: float) -> None:
    """Batches in turn until the order of the devices is clear, or the time is up."""
    batch = {one.backend.device: 1 for one in running}
    for number in range(_MOST):
        for one in running:
            left = until - time.monotonic()
            calls = batch[one.backend.device]
            longest = min(one.samples or [float(one.first_ns or 0)]) / NS_PER_S
            if not one.runs or left <= 0 or (one.samples and longest * calls > left):
                continue
            _batch(one, calls, left)
            if one.runs and number == 0 and one.samples:
                batch[one.backend.device] = max(1, round(_BATCH_NS / max(one.samples[0], 1.0)))
        alive = [one for one in running if one.runs]
        if time.monotonic() >= until or (number + 1 >= _FEWEST and _is_clear(alive)):
            return


def _batch(one: _Tried, calls: int, patience_s: float) -> None:
    backend, step = one.backend, one.step
    assert step is not None  # it runs
    answer = one.worker.ask(lambda: _timed(backend, step, calls), patience_s)
    if answer is None:
        one.unfinished = True
    elif answer.error is not None:
        one.error = f"{type(answer.error).__name__}: {answer.error}".splitlines()[0][:300]
    elif answer.value is not None:
        one.samples.append(answer.value / calls)
        one.steps += calls


def _timed(backend: Backend, step: Callable[[], object], calls: int) -> int:
    backend.synchronise()
    began = backend.clock_ns()
    for _ in range(calls):
        step()
    backend.synchronise()
    return backend.clock_ns() - began


def _is_clear(running: Sequence[_Tried]) -> bool:
    """Whether the fastest is surely faster than each other one; the first batch is warm-up."""
    known = sorted((one for one in running if len(one.samples) > _FEWEST), key=lambda one: median(one.samples[1:]))
    if len(known) < len(running):
        return False
    return all(_surely_faster(known[0], other) for other in known[1:])


def _surely_faster(one: _Tried, other: _Tried) -> bool:
    pairs = list(zip(one.samples[1:], other.samples[1:], strict=False))
    if len(pairs) < _FEWEST:
        return False
    return bootstrap_median([a / max(b, 1.0) for a, b in pairs]).high < 1


def _chosen(tried: Sequence[_Tried], seconds: float) -> Pick:
    trials = tuple(_trial(one) for one in tried)
    known = [(at, one) for at, one in enumerate(tried) if one.step_ns is not None]
    late = [one for one in tried if one.unfinished and one.first_ns is None and one.error is None]
    if not known:
        if not late:
            said = "; ".join(f"{one.backend.device}: {one.error}" for one in tried)
            raise NoAnswer(f"the step fails on every device here: {said}")
        sentence = "no step ended in time on any device: this is the first one on which the step has not failed"
        return Pick(late[0].backend.device, sentence, trials, False, seconds=seconds)
    fastest = min(known, key=lambda entry: (entry[1].step_ns, entry[0]))[1]
    best = next(one for _, one in known if one is fastest or _as_good(one, fastest))
    return Pick(best.backend.device, _reason(best, tried, late), trials, not late, seconds=seconds)


def _as_good(one: _Tried, fastest: _Tried) -> bool:
    """Whether two times are as good as the same: they cannot be told apart, and are within a tenth."""
    return not _surely_faster(fastest, one) and (one.step_ns or 0.0) <= 1.1 * (fastest.step_ns or 0.0)


def _reason(best: _Tried, tried: Sequence[_Tried], late: Sequence[_Tried]) -> str:
    mine = best.step_ns or 0.0
    parts = [f"a step takes {mine / NS_PER_MS:.3g} ms on {best.backend.device}"]
    for one in tried:
        if one is best:
            continue
        if one.error is not None:
            parts.append(f"on {one.backend.device} it fails ({one.error})")
        elif one in late:
            parts.append(f"on {one.backend.device} the first step had not ended when the time was up")
        elif one.step_ns is not None:
            same = "; too close to call, and the first is taken" if one.step_ns <= 1.1 * mine else ""
            parts.append(f"{one.step_ns / NS_PER_MS:.3g} ms on {one.backend.device}{same}")
    if len(tried) == 1:
        parts.append("there is no other device here")
    return ", ".join(parts)


def _trial(one: _Tried) -> Trial:
    step, first = one.step_ns, one.first_ns
    return Trial(
        one.backend.device, one.backend.name(), None if step is None else step / NS_PER_MS, one.steps,
        None if first is None else first / NS_PER_MS, one.error,
    )  # fmt: skip
