"""memory: device memory is given back and asked for again in the loop, or does not suffice."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, sites_of
from breakeven.diagnose.wording import of_step, often, size
from breakeven.results.records import Finding
from breakeven.whatif.without_host_work import side_rows, without_host_work

#: Emptying the cache is named so in a stream.
EMPTYING = ("host::empty_cache",)


def memory(evidence: Evidence) -> Finding | None:
    """The caching allocator is emptied in every step, or the tensors do not fit.

    What it sees: `torch.cuda.empty_cache()` in the step; the largest sum of live tensors that the recording saw.
    Why it costs: freeing waits for the device, and the next step has to allocate again from the driver. What does not fit
        stops the script.
    Evidence: the step simulated without it; the device's memory from its data sheet.
    Example: `torch.cuda.empty_cache()` after every batch "to save memory".
    Remedy: leave it out; where memory is short, a smaller batch.
    When it is wrong: where another process needs the memory at once.
    """
    if too_large(evidence):
        return _too_large(evidence)
    stream = evidence.stream
    rows = side_rows(stream, ops=EMPTYING)
    if not rows.any():
        return None
    price = evidence.price(without_host_work(stream, ops=EMPTYING))
    return Finding(
        id="memory",
        device=evidence.device.name,
        cause="memory",
        price_ms=price,
        sentence=(
            f"The memory cache is emptied {often(evidence.per_step(rows))} a step, and filled again from "
            f"the driver: {of_step(max(0.0, price.mid), evidence.step_ms)}."
        ),
        sites=sites_of(evidence, rows, lambda at: without_host_work(stream, at, ops=EMPTYING)),
        remedies=("no_empty_cache",),
    )


def too_large(evidence: Evidence) -> bool:
    """What the recording held at once does not fit into this device."""
    peak, gpu = evidence.facts.peak_device_bytes, evidence.gpu
    return peak is not None and gpu is not None and gpu.memory_gb is not None and peak > gpu.memory_gb * 1e9


def _too_large(evidence: Evidence) -> Finding:
    peak, gpu = evidence.facts.peak_device_bytes or 0, evidence.gpu
    has = size((gpu.memory_gb or 0) * 1e9) if gpu else "less"
    return Finding(
        id="memory",
        device=evidence.device.name,
        cause="memory",
        price_ms=None,
        sentence=f"The tensors of a step take {size(peak)}, {evidence.device.name} has {has}: it would run out of memory.",
        remedies=("smaller_batch",),
    )
