"""The parts of a batch are copied to the device one by one.

**What it sees.** Elements that are moved in a loop and then stacked or joined, or assigned one by one into a tensor on the
device, in each training step.

**Why it costs.** Each copy has a fixed cost of some microseconds, and from pageable memory each one makes the host wait.

**Example.** `torch.stack([picture.to(device) for picture in pictures])`.

**Remedy.** Stack on the host and copy once: `torch.stack(pictures).to(device)`.

**When it is wrong.** Where parts differ so much in size that stacking them on the host would need padding.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """The line that copies a part; the one that joins them where the copies are spread."""
    for event in facts.of("joined_copies"):
        if event.hot:
            line = event.value.moved if event.value is not None else 0
            message = "parts are copied to the device one by one, and joined there, in each step"
            yield Hit(line, 1, message) if line else hit(event, message)


CHECK = Check(code="BE104", id="transfer_bound", remedies=("merge_copies",), find=find)
