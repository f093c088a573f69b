"""A loader prepares its items in the training process.

**What it sees.** A `DataLoader` without workers whose data set reads, decodes, waits or transforms in `__getitem__`.

**Why it costs.** While an item is prepared, nothing is issued: the device waits for its input.

**Example.** `DataLoader(recordings, batch_size=16)` where each item is read from disk.

**Remedy.** `num_workers` of two or more, with `persistent_workers=True`.

**When it is wrong.** Where items are cheap, workers cost more than they save: then index whole batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Loaders with work to do and nobody to do it."""
    for event in facts.of("loader"):
        if event.name == "heavy" and facts.trains:
            yield hit(event, "each item is work, and without workers the training waits for it")


CHECK = Check(code="BE105", id="input_bound", remedies=("loader_workers",), find=find)
