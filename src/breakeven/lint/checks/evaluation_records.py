"""An evaluation records a graph that nothing uses.

**What it sees.** Calls of a model in a loop, with autograd on, from which no backward pass ever starts.

**Why it costs.** Each operation notes what backward would need, and the activations stay in memory.

**Example.** A validation loop without `torch.inference_mode()`.

**Remedy.** `@torch.inference_mode()` on the function, or `with torch.inference_mode():` around the loop.

**When it is wrong.** Where the result goes to code outside the file that calls `backward`.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Forward passes in a loop without a step that no backward pass reaches."""
    if not facts.trains:
        return
    for event in facts.of("forward"):
        idle = event.grad and event.position not in facts.used
        if idle and event.loops and not event.loops[-1].steps and not event.rare:
            yield hit(event, "autograd records here, and no backward pass follows")


CHECK = Check(code="BE113", id="memory", remedies=("inference_mode",), find=find)
