"""Losses are kept together with the graphs behind them.

**What it sees.** A loss that is appended to a list or added to a sum which outlives the step, from which no backward pass
starts.

**Why it costs.** Each graph keeps activations and nodes alive: memory grows with each step, and freeing them comes late and at
once.

**Example.** `losses.append(loss)`, `total += loss`.

**Remedy.** `losses.append(loss.detach())`.

**When it is wrong.** Where code outside the file calls `backward` on the sum.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Values with a graph that were kept in a loop of steps and never used for a backward pass."""
    for event in facts.of("kept"):
        if event.hot and event.loops[-1].steps and event.position not in facts.used:
            yield hit(event, "the graph behind this value is kept from step to step")


CHECK = Check(code="BE122", id="memory", remedies=("detach_metrics",), find=find)
