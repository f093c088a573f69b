"""compute_bound: advice for a GPU that is busy with arithmetic."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, share
from breakeven.diagnose.wording import of_step, percent
from breakeven.results.records import Finding
from breakeven.whatif.half_precision import half_precision

#: From this part of the step on the arithmetic is what the step is about.
MOSTLY = 0.5


def compute_bound(evidence: Evidence) -> Finding | None:
    """The GPU is busy with arithmetic most of the time, which is what it is for.

    What it sees: kernels limited by arithmetic for at least half of the step.
    Why it costs: nothing is wasted; fewer or cheaper operations are the only way on.
    Evidence: the step simulated with products, convolutions and recurrent layers in half precision.
    Example: a ResNet with a batch of 256.
    Remedy: mixed precision on tensor cores, TF32, channels-last convolutions.
    When it is wrong: where half precision costs accuracy.
    """
    part = share(evidence.cause_ms("compute"), evidence.step_ms)
    if part < MOSTLY:
        return None
    price = evidence.price(half_precision(evidence.stream))
    if price.mid <= 0:
        return None
    return Finding(
        id="compute_bound",
        device=evidence.device.name,
        cause="compute",
        price_ms=price,
        sentence=(
            f"The GPU computes for {percent(part)} of the step, as it should; in half precision (autocast) it would save "
            f"{of_step(price.mid, evidence.step_ms)}."
        ),
        remedies=("autocast", "tf32", "channels_last"),
    )
