"""From cold to steady: the first call, calls by themselves until their level no longer changes, and how long a batch is."""

from __future__ import annotations

from math import ceil, gcd
from statistics import median
from typing import Final

import numpy as np

from breakeven.measure.contestant import Contestant, Patience, Reading
from breakeven.stats.change import changes
from breakeven.units import NS_PER_MS, NS_PER_S

#: Calls by themselves after the last change of level from which on it is taken as steady, and most of them.
_SETTLED: Final = 9
_MOST_ALONE: Final = 400
#: Calls that steadiness needs at most once the slow ones are over.
_ENOUGH: Final = 2 * _SETTLED
#: Part of the time that warming up may take.
_SHARE: Final = 0.25
#: A batch is long enough where it lasts so many steps of the clock, which is then off by 0.2 % at most …
_STEPS: Final = 500
#: … on an asynchronous device, so many calls by themselves, whose begin and end it is relieved of …
_ALONE: Final = 8
#: … and a time in which reading the clock (some 50 ns), the noise of single calls, and the first call no longer count: it finds
#: colder caches, which made batches of four calls of 0.22 ms 0.6 % longer by the call than those of a hundred (25: 0.0 %).
_LEAST_NS: Final = 5 * NS_PER_MS
#: Batches that should fit into the time that is left.
_BATCHES: Final = 40
#: The same where the clock is so coarse that they have to be longer.
_FEWEST: Final = 5
_MOST_CALLS: Final = 10_000_000


def warm_up(contestant: Contestant, patience: Patience, rivals: int) -> Reading:
    """The first call, then calls by themselves until they are steady, then the length of a batch.

    Args:
        contestant: the job, which has not run yet.
        patience: how long all of it may take.
        rivals: how many contestants share the time.
    """
    reading = Reading(contestant)
    clock = contestant.backend.clock_ns
    contestant.enter()
    contestant.backend.synchronise()
    began = clock()
    reading.first_ns = _alone(reading)
    limit = _SHARE * patience.seconds * NS_PER_S / rivals
    while not (settled := _settled(reading)) and len(reading.alone_ns) < _MOST_ALONE:
        if clock() - began > limit and len(reading.alone_ns) >= 2 and reading.alone_ns[-1] * _ENOUGH > limit:
            break
        _alone(reading)
    reading.steady = settled
    if not settled:
        reading.settled_at = max(reading.settled_at, len(reading.alone_ns) // 2)
    reading.calls = _batch_of(reading, patience, rivals)
    reading.warmup_calls += len(reading.alone_ns)
    return reading


def timed_batch(contestant: Contestant, calls: int) -> int:
    """Nanoseconds of so many calls one after another, from an idle device to an idle device."""
    backend = contestant.backend
    backend.synchronise()
    began = backend.clock_ns()
    contestant.run(calls)
    backend.synchronise()
    return backend.clock_ns() - began


def timed_alone(contestant: Contestant) -> tuple[int, int, int]:
    """One call by itself: nanoseconds until it returned, until it was done, and what all clock readings are multiples of."""
    clock = contestant.backend.clock_ns
    contestant.backend.synchronise()
    began = clock()
    contestant.run(1)
    issued = clock()
    contestant.backend.synchronise()
    ended = clock()
    return issued - began, ended - began, gcd(began, issued, ended)


def _alone(reading: Reading) -> int:
    issued, whole, step = timed_alone(reading.contestant)
    reading.issued_ns.append(issued)
    reading.alone_ns.append(whole)
    reading.clock_step_ns = gcd(reading.clock_step_ns, step)
    return whole


def _settled(reading: Reading) -> bool:
    """Whether enough calls have followed the last change of level; remembers where that was."""
    n = len(reading.alone_ns)
    if n < _SETTLED + 1 or (n - 1) % 5:  # looked at now and then: looking costs more than a short call
        return False
    found = changes(np.array(reading.alone_ns[1:], dtype=np.float64))
    last = 1 + (found[-1] if found else 0)
    reading.settled_at = last
    return n - last >= _SETTLED and n - last >= n // 2


def _batch_of(reading: Reading, patience: Patience, rivals: int) -> int:
    """Calls of a batch. Found by growing it, since a call in a row is often much shorter than one by itself."""
    share_ns = patience.seconds * NS_PER_S / rivals / _BATCHES
    coarse_ns = _STEPS * reading.clock_step_ns
    single = min(median(reading.settled_alone_ns), reading.alone_ns[-1])
    least = _ALONE * single if reading.contestant.backend.asynchronous else single
    wanted = max(min(max(_LEAST_NS, least), share_ns), min(coarse_ns, share_ns * _BATCHES / _FEWEST))
    fewest = 2 if reading.contestant.backend.asynchronous and single * _BATCHES < patience.seconds * NS_PER_S / rivals else 1
    calls = max(1, min(int(wanted / max(single, reading.clock_step_ns)), 100))
    while calls < _MOST_CALLS:
        took = timed_batch(reading.contestant, calls)
        reading.warmup_calls += calls
        if took >= 0.9 * wanted:
            break
        grown = ceil(1.05 * calls * wanted / max(took, reading.clock_step_ns))
        calls = min(max(grown, calls + 1), 10 * calls)
    return max(calls, fewest)
