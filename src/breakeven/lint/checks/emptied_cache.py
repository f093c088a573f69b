"""The allocator's cache is emptied in each training step.

**What it sees.** `torch.cuda.empty_cache()` in each step.

**Why it costs.** The memory goes back to the driver, which waits for the device, and the next step asks for it again.

**Example.** `torch.cuda.empty_cache()` after each batch.

**Remedy.** Leave it out: what the cache holds is free for the next tensor.

**When it is wrong.** Where another process on the same device needs the memory in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Each call in a step."""
    for event in facts.of("empty_cache"):
        if event.hot:
            yield hit(event, "memory goes back to the driver in each step, and is asked for again in the next")


CHECK = Check(code="BE119", id="memory", remedies=("no_empty_cache",), find=find)
