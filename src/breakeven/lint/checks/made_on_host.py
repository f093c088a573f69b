"""A tensor is made on the host in each step and then copied to the device.

**What it sees.** `torch.zeros`, `randn`, `arange`, NumPy's random draws and their like without `device=`, followed by
`.to(device)` or `.cuda()`, in a training step or in a module's `forward`.

**Why it costs.** The host fills the memory, and a copy from pageable memory makes it wait; the device could fill it by itself.

**Example.** `eps = torch.randn(mu.shape).to(mu.device)`.

**Remedy.** `torch.randn(mu.shape, device=mu.device)`. The numbers come from the device's generator then.

**When it is wrong.** Where the same random numbers are needed on every device.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Event, Facts
from breakeven.lint.reading.values import Tensor


def find(facts: Facts) -> Iterator[Hit]:
    """The line that makes the tensor, and the one that copies it where that is another."""
    for event in facts.of("to_device"):
        if event.value is not None and event.value.factory and event.often and _in_step(event, event.value):
            yield hit(event, "a tensor that was made on the host is copied to the device in each step")
            if event.value.factory != event.line:
                yield Hit(event.value.factory, 1, "made on the host in each step, though it is needed on the device")


def _in_step(event: Event, tensor: Tensor) -> bool:
    """Whether it was made in the same step, not once before the training."""
    steps = [loop.symbol for loop in event.loops if loop.steps]
    return not steps or any(symbol in tensor.made_in for symbol in steps)


CHECK = Check(code="BE103", id="transfer_bound", remedies=("create_on_device",), find=find)
