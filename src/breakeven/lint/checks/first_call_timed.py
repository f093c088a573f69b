"""A measurement holds the first call.

**What it sees.** A rate, or the time of single operations, whose first reading comes before any device work of the file.

**Why it misleads.** The first call loads libraries, chooses algorithms and allocates memory: milliseconds to seconds, once.

**Example.** `start = time.perf_counter()` just before the first training step, and steps per second from it.

**Remedy.** Run the same work about ten times before the clock starts.

**When it is wrong.** Where the whole run is meant, start included.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Rates, and times of work that is no training, with nothing run before."""
    if not facts.device:
        return
    for timing in facts.timings:
        measured = timing.rate or not timing.steps
        if timing.work and timing.first and not timing.loops and not timing.compared and measured:
            yield Hit(timing.line, timing.column, "this time holds the first call, which is set-up for the most part")


CHECK = Check(code="BE115", id="warmup", remedies=("warm_up",), find=find)
