"""cuDNN searches for the best algorithm again for each new shape.

**What it sees.** `torch.backends.cudnn.benchmark = True` while the shapes that convolutions get are drawn anew in each step.

**Why it costs.** Each shape that was not seen before is tried with all algorithms first.

**Example.** Random crops of random size.

**Remedy.** Leave it off, or make the shapes repeat.

**When it is wrong.** Where there are few different shapes, each is searched for once and then known.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """The switch, where convolutions see varying shapes."""
    if any(event.often for event in facts.of("varying_conv")):
        for event in facts.of("benchmark"):
            if event.name == "on":
                yield hit(event, "shapes change from step to step, and each new one is searched for again")


CHECK = Check(code="BE116", id="warmup", remedies=("benchmark_off",), find=find)
