"""small_kernel: advice for a GPU that is busy with kernels too small for it."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, share
from breakeven.diagnose.wording import percent
from breakeven.results.records import Finding
from breakeven.timeline import edit

#: From this part of the step on small kernels are what the step is about.
MOSTLY = 0.4


def small_kernel(evidence: Evidence) -> Finding | None:
    """Kernels that cannot fill the GPU take much of the step: each has a fixed cost, or is a chain of time steps.

    What it sees: kernels limited by neither arithmetic nor traffic for at least two fifths of the step.
    Why it costs: a kernel takes 2 to 4 µs however little it does, and the time steps of a recurrent layer have to follow each
        other.
    Evidence: the account. What a larger batch would save is `small_batch`'s price; a recurrent chain has none until the model
        changes.
    Example: an LSTM over 500 time steps with a batch of 16.
    Remedy: more samples at once; a layer that treats all time steps in parallel (attention, convolution).
    When it is wrong: where the recurrence is the point.
    """
    part = share(evidence.cause_ms("small_kernel"), evidence.step_ms)
    if part < MOSTLY:
        return None
    recurrent = any(call.op.startswith("cudnn::") for call in edit.calls_of(evidence.stream))
    why = "the time steps of a recurrent layer follow each other" if recurrent else "each has a fixed cost of a few µs"
    return Finding(
        id="small_kernel",
        device=evidence.device.name,
        cause="small_kernel",
        price_ms=None,
        sentence=f"Kernels too small to fill the GPU take {percent(part)} of the step: {why}.",
        remedies=("larger_batch", "parallel_architecture") if recurrent else ("larger_batch", "compile"),
    )
