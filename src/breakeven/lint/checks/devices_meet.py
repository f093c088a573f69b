"""A tensor on the host meets one on the device.

**What it sees.** An operation, or a module's call, of which one tensor surely lies on the host and another surely on the GPU: a
state that was never moved, a plain tensor in an attribute that `.to` leaves behind, a plain list of modules.

**Why it matters.** It raises on a GPU. Without one, the script runs, so nobody sees it before.

**Example.** `start = torch.zeros(2, 32, 64)` handed to a model on `cuda`.

**Remedy.** Make it there (`device=x.device`), move it, or register it as a buffer.

**When it is wrong.** Where the device that the script asks for is not a GPU after all.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Each place where the two meet."""
    for event in facts.of("mismatch"):
        made = event.value.born if event.value is not None else 0
        where = f" (made in line {made})" if made and made != event.line else ""
        yield hit(event, f"a tensor on the host{where} meets one on the device")


CHECK = Check(code="BE121", id="device_mismatch", remedies=("move_to_device",), find=find)
