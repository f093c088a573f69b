"""Gradients are filled with zeros instead of being dropped.

**What it sees.** `zero_grad(set_to_none=False)`, and `p.grad.zero_()` in a loop over parameters, in a training.

**Why it costs.** Each gradient is written once more, and backward adds to it instead of storing it.

**Example.** `optimizer.zero_grad(set_to_none=False)`.

**Remedy.** `optimizer.zero_grad()`.

**When it is wrong.** Where something reads gradients of parameters that got none, and expects zeros.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Both ways of writing zeros."""
    for event in facts.of("zeroed", "cleared"):
        if event.hot or not event.known:
            yield hit(event, "gradients are overwritten with zeros, then added to; dropping them is cheaper")


CHECK = Check(code="BE111", id="launch_bound", remedies=("set_to_none",), find=find)
