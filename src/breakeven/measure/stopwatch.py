"""The stopwatch: contestants take turns, batch by batch, so that whatever disturbs the machine disturbs all alike.

It only reads clocks; what the readings are worth is said by `judging.py`. It cannot see what happens inside of a batch.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from breakeven.measure.contestant import Contestant, Patience, Reading
from breakeven.measure.warming import timed_alone, timed_batch, warm_up
from breakeven.stats.bootstrap import bootstrap_median
from breakeven.units import NS_PER_S

OnProgress = Callable[[str], None]

#: Samples of each at which the intervals are looked at; each look is a chance to stop on luck, so they get rarer.
_LOOKS: Final = 1.35
#: Part of the time that is used in any case: a load that lasts is not seen in a moment.
_LEAST_SHARE: Final = 0.2
#: Samples in any case.
_FEWEST: Final = 3
#: Seconds for which energy is read, long against the counters' refresh (NVML's every 20 to 100 ms; "Part-time Power
#: Measurements", Yang et al. 2023), and its largest part of the patience.
_ENERGY_S: Final = 1.0
_ENERGY_SHARE: Final = 0.1


def measure(
    contestants: Sequence[Contestant], patience: Patience, on_progress: OnProgress = lambda text: None
) -> tuple[Reading, ...]:
    """Time some contestants against each other.

    Whatever a contestant's job raises comes through as it is.

    Args:
        contestants: none has run yet.
        patience: when to stop.
        on_progress: told what is being done.

    Returns:
        The readings, in the order of the contestants.
    """
    collected = gc.isenabled()
    gc.collect()
    gc.disable()  # as timeit does: a collection belongs to no call
    try:
        readings = []
        for contestant in contestants:
            on_progress(f"warming up: {contestant.name}")
            readings.append(warm_up(contestant, patience, len(contestants)))
        before = [reading.contestant.backend.slowed() for reading in readings]
        try:
            _rounds(readings, patience, on_progress)
        except KeyboardInterrupt:  # what was finished is kept
            if not _cut_to_whole_rounds(readings):
                raise
        for reading, first in zip(readings, before, strict=True):
            reading.slowed = (first, reading.contestant.backend.slowed())
            if reading.stopped != "interrupted":
                reading.energy_j = _energy(reading, patience)
    finally:
        if collected:
            gc.enable()
    return tuple(readings)


def _rounds(readings: Sequence[Reading], patience: Patience, on_progress: OnProgress) -> None:
    """One batch of each in every round, in an order that changes, until all are precise or the time is up."""
    order = list(readings)
    shuffle = random.Random(0).shuffle
    spent, rounds, look = 0, 0, patience.least
    while rounds < _FEWEST or spent < patience.seconds * NS_PER_S:
        shuffle(order)
        for reading in order:
            reading.contestant.enter()
            took = timed_batch(reading.contestant, reading.calls)
            reading.batch_ns.append(took)
            if _has_ends(reading):
                issued, alone, _ = timed_alone(reading.contestant)
                reading.ends_ns.append(alone)
                reading.ends_issued_ns.append(issued)
                took += alone
            spent += took
        rounds += 1
        if rounds >= look and spent >= _LEAST_SHARE * patience.seconds * NS_PER_S:
            on_progress(f"timing: {rounds} batches each")
            for reading in readings:
                reading.stopped = "precise" if _is_precise(reading, patience) else "time_up"
            if all(reading.stopped == "precise" for reading in readings):
                return
            look = int(rounds * _LOOKS) + 1
    for reading in readings:
        reading.stopped = "precise" if _is_precise(reading, patience) else "time_up"


def _cut_to_whole_rounds(readings: Sequence[Reading]) -> int:
    """Drop the round that was interrupted; how many are left."""
    rounds = min(min(len(r.batch_ns), len(r.ends_ns) if _has_ends(r) else len(r.batch_ns)) for r in readings)
    for reading in readings:
        del reading.batch_ns[rounds:], reading.ends_ns[rounds:], reading.ends_issued_ns[rounds:]
        reading.stopped = "interrupted"
    return rounds


def _has_ends(reading: Reading) -> bool:
    return reading.contestant.backend.asynchronous and reading.calls > 1


def _is_precise(reading: Reading, patience: Patience) -> bool:
    return bootstrap_median(reading.per_call_ns, patience.looked_level).half_width <= patience.precision


def _energy(reading: Reading, patience: Patience) -> float | None:
    """Joules of a call, idle power included: the device's counter over a stretch that is all this job."""
    backend = reading.contestant.backend
    if backend.energy_j() is None or not reading.batch_ns:
        return None
    reading.contestant.enter()
    backend.synchronise()
    began, calls = backend.clock_ns(), 0
    before = backend.energy_j()
    limit = max(min(_ENERGY_S, _ENERGY_SHARE * patience.seconds) * NS_PER_S, 1)
    while calls == 0 or backend.clock_ns() - began < limit:
        reading.contestant.run(reading.calls)
        backend.synchronise()
        calls += reading.calls
    after = backend.energy_j()
    with suppress(TypeError):  # a counter that has gone: not measured
        used = after - before  # type: ignore[operator]  # either may be None by now
        return used / calls if used > 0 else None
    return None
