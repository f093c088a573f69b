"""A loop over time multiplies its input, which needs no state, one time step at a time.

**What it sees.** A product with the input of one time step alone inside a loop that carries a state, where the cell is none
that cuDNN has.

**Why it costs.** A small product and its launches for each time step, where one large product does all of them.

**Example.** `for t in range(n): gates = self.inp(x[t]) + self.rec(h)`.

**Remedy.** `projected = self.inp(x)` before the loop, and `projected[t]` in it.

**When it is wrong.** Where the projection of a whole sequence does not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts
from breakeven.lint.recurrence import time_loops


def find(facts: Facts) -> Iterator[Hit]:
    """Products that could be done before the loop."""
    for time in time_loops(facts):
        if not time.fusable:
            for event in time.input_products:
                yield hit(event, "this product needs no state: one before the loop does all time steps")


CHECK = Check(code="BE109", id="unfused_rnn", remedies=("hoist_projection",), find=find)
