"""More threads are asked for than there are cores.

**What it sees.** `torch.set_num_threads`, `OMP_NUM_THREADS` and their like with a number that exceeds the cores of this machine
(and four), or a multiple of `os.cpu_count()`.

**Why it costs.** Threads that share a core wait for each other at the end of each operation.

**Example.** `torch.set_num_threads(64)` on a laptop.

**Remedy.** `torch.set_num_threads(os.cpu_count())`, or leave it alone.

**When it is wrong.** Where the script is meant for one larger machine only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts

_ALWAYS_FINE = 4  # cores that nearly every machine has; a smaller number is no reason for a finding


def find(facts: Facts) -> Iterator[Hit]:
    """Numbers that are too large here."""
    cores = max(os.cpu_count() or 1, _ALWAYS_FINE)
    for event in facts.of("threads"):
        if (event.name == "count" and event.number > cores) or (event.name == "times" and event.number > 1):
            yield hit(event, "more threads than cores wait for each other")


CHECK = Check(code="BE117", id="cpu_oversubscription", remedies=("threads",), find=find)
