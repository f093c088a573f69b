"""A recurrent network gets one time step for each training step.

**What it sees.** A recurrent layer, or a cell, that is called on a single time step in a loop over time which does an
optimizer's step in each of its iterations and hands the state on.

**Why it costs.** Each time step pays for a whole forward, backward and optimizer pass of tiny operations.

**Example.** `for t in range(n): out, state = rnn(series[t:t + 1], state); …; optimizer.step()`.

**Remedy.** Send a window of time steps through one call and do one optimizer's step for it.

**When it is wrong.** Where the next value is known only after the prediction (online learning). The gradients reach further
back with a window, so the training is not the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, line_in
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Calls on one time step whose state comes from the iteration before, which trained."""
    for event in facts.of("recurrent", "cell"):
        if not event.loops or (event.kind == "recurrent" and not event.number):
            continue
        loop = event.loops[-1]
        taken = event.value.tags if event.value is not None else frozenset()
        if loop.steps and loop.symbol in taken and event.other is not None and loop.symbol not in event.other.made_in:
            yield Hit(line_in(loop, event), 1, "one time step for each training step: a window of them could go through one call")


CHECK = Check(code="BE108", id="launch_bound", remedies=("window_loop",), find=find)
