"""A value of a tensor is read in each training step.

**What it sees.** `.item()`, `.tolist()`, `float(t)`, `int(t)`, `.cpu()` and `.to("cpu")` of a tensor on the device, in a loop
that does a training step in each of its iterations, whichever function they stand in.

**Why it costs.** The host waits until everything issued so far has been executed, and goes on with an empty queue.

**Example.** `losses.append(loss.item())` after each `optimizer.step()`.

**Remedy.** Keep the values on the device (`losses.append(loss.detach())`) and read them once per epoch.

**When it is wrong.** Where the value decides what happens next (an action in an environment), it has to be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit, on_device
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Each read in a step that is neither rare nor of a tensor on the host."""
    for event in facts.of("item", "to_host"):
        if event.hot and on_device(facts, event):
            what = f"{event.name}()" if event.name in ("float", "int") else f".{event.name or 'cpu'}()"
            yield hit(event, f"{what} may make the host wait for the device in each step")


CHECK = Check(code="BE101", id="sync_bound", remedies=("metrics_on_device",), find=find)
