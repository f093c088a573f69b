"""bandwidth_bound: advice for a GPU that is busy moving data through its own memory."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, share
from breakeven.diagnose.wording import of_step, percent
from breakeven.results.records import Finding
from breakeven.whatif.fused_pointwise import fused_pointwise

#: From this part of the step on memory traffic is what the step is about.
MOSTLY = 0.4


def bandwidth_bound(evidence: Evidence) -> Finding | None:
    """Kernels that only read and write memory take much of the step.

    What it sees: kernels limited by memory traffic for at least two fifths of the step.
    Why it costs: each elementwise operation reads and writes its tensors whole; neighbours could do it once.
    Evidence: the step simulated with chains of elementwise operations in one kernel each.
    Example: an activation, a dropout and an addition written as three operations on a large tensor.
    Remedy: `torch.compile`, mixed precision (half the bytes).
    When it is wrong: kernels that must read much (an optimizer, a look-up) stay.
    """
    part = share(evidence.cause_ms("bandwidth"), evidence.step_ms)
    if part < MOSTLY:
        return None
    price = evidence.price(fused_pointwise(evidence.stream))
    if price.mid <= 0:
        return None
    return Finding(
        id="bandwidth_bound",
        device=evidence.device.name,
        cause="bandwidth",
        price_ms=price,
        sentence=(
            f"Kernels that only move data through the GPU's memory take {percent(part)} of the step; chains of them joined "
            f"into one would save {of_step(price.mid, evidence.step_ms)}."
        ),
        remedies=("compile", "autocast"),
    )
