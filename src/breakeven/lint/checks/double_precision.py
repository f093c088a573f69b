"""A training computes in float64.

**What it sees.** A module turned to double, a default type of float64, and tensors of float64 (NumPy's arrays, unless told
otherwise) that take part in a training step on the device.

**Why it costs.** Most GPUs do 1/32 or 1/64 of their float32 rate in float64, and twice the bytes move.

**Example.** `model.double()` because the data came from NumPy.

**Remedy.** `torch.from_numpy(x).float()` and a model left as it is.

**When it is wrong.** Where the problem needs the digits: stiff equations, differences of large numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from breakeven.lint.check import Check, Hit, hit, on_device
from breakeven.lint.reading.facts import Facts


def find(facts: Facts) -> Iterator[Hit]:
    """Where the type comes from."""
    if not facts.trains:
        return
    for event in facts.of("double_module", "double_default"):
        yield hit(event, "the model computes in float64")
    for event in facts.of("double"):
        if event.hot and on_device(facts, event) and event.value is not None:
            yield Hit(event.value.double_line, 1, "float64 from here takes part in each training step")


CHECK = Check(code="BE112", id="fp64", remedies=("float32",), find=find)
