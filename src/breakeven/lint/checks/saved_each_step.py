"""A checkpoint is written in each training step.

**What it sees.** `torch.save` and its like in each step, whichever function they stand in.

**Why it costs.** All parameters are copied to the host, which waits for the device, and written to disk.

**Example.** `save(model, optimizer, epoch)` in the loop over batches.

**Remedy.** Save once per epoch, or every N steps.

**When it is wrong.** Where a step takes minutes.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Each save in a step."""
    for event in facts.of("save"):
        if event.hot:
            yield hit(event, "written to disk in each step")


CHECK = Check(code="BE120", id="sync_bound", remedies=("checkpoint_less",), find=find)
