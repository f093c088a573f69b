"""small_batch: a step has too few samples to be worth a GPU's while."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence
from breakeven.diagnose.wording import count, ms
from breakeven.results.records import Finding
from breakeven.whatif.scale_batch import scale_batch

#: How much larger a batch the rule asks the simulator about.
FACTOR = 8


def small_batch(evidence: Evidence) -> Finding | None:
    """The same samples in fewer, larger batches would take the GPU much less time.

    What it sees: the recorded stream with a batch eight times as large, simulated.
    Why it costs: launches, latencies and the optimizer cost the same whatever the batch; a GPU has room for thousands of
        samples at once.
    Evidence: the step less an eighth of the larger step: what today's samples would save.
    Example: batches of 20 short sentences.
    Remedy: a larger batch, with the learning rate adapted to it.
    When it is wrong: fewer updates per epoch can cost accuracy; an online method has no larger batch.
    """
    batch = evidence.stream.batch
    if batch is None or batch < 1:
        return None
    price = evidence.price(scale_batch(evidence.stream, batch * FACTOR), per=FACTOR)
    if price.mid <= 0:
        return None
    larger = max(0.0, (evidence.step_ms - price.mid) * FACTOR)
    launch, small = evidence.cause_ms("launch"), evidence.cause_ms("small_kernel")
    return Finding(
        id="small_batch",
        device=evidence.device.name,
        cause="small_kernel" if small > launch else "launch",
        price_ms=price,
        sentence=(
            f"{count(batch, 'sample')} a step {'leaves' if batch == 1 else 'leave'} the GPU mostly idle: "
            f"a step of {FACTOR * batch:,} would take {ms(larger)} where {FACTOR} steps of today take "
            f"{ms(FACTOR * evidence.step_ms)}."
        ),
        remedies=("larger_batch",),
    )
