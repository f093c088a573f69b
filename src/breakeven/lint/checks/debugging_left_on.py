"""A debugging aid is left on for the whole training.

**What it sees.** Autograd's anomaly detection, `CUDA_LAUNCH_BLOCKING=1`, the debug mode of synchronisations, and autograd's
profiler around a training.

**Why it costs.** Anomaly detection notes a stack trace for each operation and checks each gradient, which reads it.

**Example.** `torch.autograd.set_detect_anomaly(True)` at the top of the script.

**Remedy.** Take it out, or put it behind an option.

**When it is wrong.** While the fault is still being looked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Aids that are switched on for sure."""
    for event in facts.of("debug"):
        if event.name != "off" and facts.trains and not event.rare:
            yield hit(event, "a debugging aid slows down each operation of the training")


CHECK = Check(code="BE118", id="launch_bound", remedies=("debug_off",), find=find)
