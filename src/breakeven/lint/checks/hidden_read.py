"""A tensor is read in each training step without a word that says so.

**What it sees.** A tensor on the device as a condition (`if loss > 50`, `assert`, `while`, `max(a, b)`), a mask as an index,
`nonzero`, `masked_select`, `unique`, and a tensor that is printed, formatted or logged, in each step of a training.

**Why it costs.** The host has to know the value, or how many elements there are, so it waits for the device.

**Example.** `(guess[missing] - truth[missing]).square().mean()`.

**Remedy.** Multiply by the mask instead of indexing with it (`torch.where`), check and print every N steps.

**When it is wrong.** Where far fewer elements than all are taken, working on them alone may be worth the wait.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit, on_device
from breakeven.lint.reading.facts import Facts

_MESSAGES = {
    "truth": "a condition on a tensor may make the host wait for the device in each step",
    "mask": "the number of elements must be known first: this may make the host wait for the device in each step",
    "print": "showing a tensor may make the host wait for the device in each step",
}


def find(facts: Facts) -> Iterator[Hit]:
    """Each hidden read in a step that is neither rare nor of a tensor on the host."""
    for event in facts.of(*_MESSAGES):
        if event.hot and on_device(facts, event):
            yield hit(event, _MESSAGES[event.kind])


CHECK = Check(code="BE102", id="sync_bound", remedies=("metrics_on_device",), find=find)
