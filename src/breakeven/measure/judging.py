"""From readings to a number with its interval, its doubts and its traps. Pure: it reads no clock."""

from __future__ import annotations

from statistics import median
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.measure.contestant import Patience, Reading
from breakeven.results.records import Interval
from breakeven.results.timing import Doubt, Timing, Trap
from breakeven.stats.bootstrap import bootstrap_median
from breakeven.stats.estimate import doubts as doubts_of
from breakeven.stats.estimate import steady_from
from breakeven.units import NS_PER_MS

Floats = NDArray[np.float64]

#: A careless reading misleads from this part of the honest number on, either way.
_WRONG: Final = 0.1
#: A first call is set-up where it takes this much longer than a steady one by itself …
_SET_UP: Final = 1.5
#: … and longer than any of the steady ones, by this much.
_ABOVE_ALL: Final = 1.2
#: Steps of the clock in a batch below which the clock is too coarse: one step is then over half a percent.
_COARSE: Final = 200

_SENTENCES: Final = {
    "few": "only {n} samples: the interval is a guess",
    "drift": "the time went from {first:.3g} to {last:.3g} ms while it was measured: heat, or other work on the machine",
    "bimodal": "the samples fall into two groups, around {low:.3g} and {high:.3g} ms: the median is one of them by chance",
    "outliers": "one sample in {far} lies far from the others: something else runs now and then",
}


def judged(reading: Reading, patience: Patience, base: Reading | None = None) -> Timing:
    """What one contestant's readings say.

    Args:
        reading: of a contestant with at least one batch.
        patience: what was asked for.
        base: the first contestant's, measured in the same rounds; None: this is it.
    """
    samples = np.array(reading.per_call_ns) / NS_PER_MS
    first = steady_from(samples)
    steady = samples[first:]
    found = bootstrap_median(steady, patience.looked_level)
    call = Interval(found.low, found.mid, found.high)
    alone = float(median(reading.settled_alone_ns)) / NS_PER_MS
    backend = reading.contestant.backend
    return Timing(
        name=reading.contestant.name, device=backend.device, device_name=backend.name(), call_ms=call, alone_ms=alone,
        level=patience.level, samples=len(steady), calls=reading.calls, warmup_calls=reading.warmup_calls + first * reading.calls,
        stopped=reading.stopped, doubts=_doubts(reading, steady, found.half_width, patience), traps=_traps(reading, call.mid),
        energy_j=reading.energy_j, against=None if base is None else against(reading, base, patience.level),
    )  # fmt: skip


def against(reading: Reading, base: Reading, level: float) -> Interval:
    """How many times as long as the base, from the batches of the same rounds: what disturbed both cancels."""
    ratios = np.array(reading.per_call_ns) / np.array(base.per_call_ns)
    found = bootstrap_median(ratios[steady_from(ratios) :], level)
    return Interval(found.low, found.mid, found.high)


def _doubts(reading: Reading, steady: Floats, half: float, patience: Patience) -> tuple[Doubt, ...]:
    said = []
    if reading.clock_step_ns * _COARSE > median(reading.batch_ns):
        part = reading.clock_step_ns / median(reading.batch_ns)
        said.append(Doubt("coarse_clock", f"the clock is too coarse: one step of it is {100 * part:.2g} % of what was timed"))
    if not reading.steady and len(reading.alone_ns) > 1:
        said.append(
            Doubt("not_steady", f"{len(reading.alone_ns)} calls of warm-up did not become steady; it may still get faster")
        )
    if slow := _slowed(reading):
        said.append(Doubt("throttled", slow))
    said += [Doubt(which, _sentence(which, steady)) for which in doubts_of(steady)]
    if reading.stopped == "time_up":
        wide = f"at ±{100 * half:.2g} %" if np.isfinite(half) else "with no interval"
        said.append(Doubt("time_up", f"the time was up {wide}; ±{100 * patience.precision:g} % was asked for"))
    return tuple(said)


def _slowed(reading: Reading) -> str | None:
    before, after = reading.slowed
    if after is None or (after == before and after.startswith("thermal ")):  # a counter that did not move
        return None
    return f"the device is slowed by its {after.split()[0]} limit"


def _sentence(which: str, steady: Floats) -> str:
    n, third = len(steady), max(len(steady) // 3, 1)
    middle = float(np.median(steady))
    spread = 1.4826 * float(np.median(np.abs(steady - middle)))
    far = int((np.abs(steady - middle) > max(3.5 * spread, 0.05 * middle)).sum())
    ordered = np.sort(steady)
    gap = int(np.argmax(np.diff(ordered))) + 1 if n > 1 else 0
    return _SENTENCES[which].format(
        n=n, first=float(np.median(steady[:third])), last=float(np.median(steady[-third:])), far=max(round(n / max(far, 1)), 1),
        low=float(np.median(ordered[:gap] if gap else ordered)), high=float(np.median(ordered[gap:])),
    )  # fmt: skip


def _traps(reading: Reading, honest_ms: float) -> tuple[Trap, ...]:
    return (_not_synchronised(reading, honest_ms), _first_call(reading, honest_ms))


def _not_synchronised(reading: Reading, honest_ms: float) -> Trap:
    """The clock read as soon as the call returns."""
    read = float(median(reading.settled_issued_ns)) / NS_PER_MS
    caught = reading.contestant.backend.asynchronous and read < (1 - _WRONG) * honest_ms
    return Trap("not_synchronised", read, read / honest_ms if honest_ms else None, caught)


def _first_call(reading: Reading, honest_ms: float) -> Trap:
    """The very first call, set-up and all."""
    steady = reading.settled_alone_ns
    first = reading.first_ns
    usual, most = median(steady), max(steady)
    enough = len(reading.alone_ns) > 1
    pause = max(reading.batch_ns) - median(reading.batch_ns)  # what else took the machine meanwhile may have met the first call
    caught = enough and first > _SET_UP * usual and first > _ABOVE_ALL * most and first - usual > pause
    return Trap("first_call", first / NS_PER_MS, first / NS_PER_MS / honest_ms if honest_ms else None, caught)
