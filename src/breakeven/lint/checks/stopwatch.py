"""A clock is read while the device is still busy.

**What it sees.** The difference of two readings of `time.time()`, `perf_counter()` and their like around device work, where
nothing waits for the device before one of them.

**Why it misleads.** The call returns when the work has been queued: the difference is the time of issuing it.

**Example.** `began = time.time(); step(); took = time.time() - began`.

**Remedy.** `torch.cuda.synchronize()` before both readings.

**When it is wrong.** Where the time of issuing is what is wanted.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Differences of readings with queued work; a limit on the time of a loop is no measurement."""
    if not facts.device:
        return
    for timing in facts.timings:
        if not timing.work or timing.compared:
            continue
        if timing.end_pending:
            yield Hit(timing.line, timing.column, "the clock is read before the device has done the work")
        elif timing.start_pending:
            yield Hit(timing.start_line, 1, "the clock starts while earlier work may still be running on the device")


CHECK = Check(code="BE114", id="timing_bug", remedies=("synchronise",), find=find)
