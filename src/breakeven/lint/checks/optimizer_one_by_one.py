"""The optimizer updates parameters one by one.

**What it sees.** An optimizer with `foreach=False` that is not fused either, and updates written by hand in a loop over
parameters.

**Why it costs.** Several small kernels for each parameter, where a few for all of them would do.

**Example.** `torch.optim.AdamW(model.parameters(), foreach=False)`.

**Remedy.** `fused=True`, or nothing: the default is for-each on a GPU.

**When it is wrong.** For-each needs memory for a copy of the parameters; with few and large ones it gains nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Optimizers that were told to, and loops that do it by hand."""
    for event in facts.of("optimizer"):
        if event.number:
            yield hit(event, f"{event.name} updates one parameter after the other")
    for event in facts.of("updated"):
        if event.hot:
            yield hit(event, "parameters are updated one after the other by hand")


CHECK = Check(code="BE110", id="launch_bound", remedies=("fused_optimizer",), find=find)
