"""memory: device memory is asked for and given back step after step, in a trace."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding
from breakeven.timeline.schema import Kind


def memory(evidence: TraceEvidence) -> Finding | None:
    """The device waits while the host allocates or frees its memory.

    What it sees: idle time of the device while the host was in cudaMalloc, cudaFree and their like, in later steps too.
    Why it costs: freeing stops the device; PyTorch's cache avoids both, unless it is emptied or runs over, or a library asks
        for its workspace itself.
    Evidence: the account's part `memory`, averaged over the steps.
    Example: `torch.cuda.empty_cache()` in every step.
    Remedy: leave it out; where memory is short, a smaller batch or expandable segments.
    When it is wrong: where another process needs the memory at once.
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("memory", every=True)
    if price.mid <= 0:
        return None
    calls = evidence.host_in_steps.of_kind(Kind.ALLOC)
    sentence = (
        f"Asking for and freeing GPU memory stops the GPU {part(evidence, price)}: "
        f"{count(len(calls) / evidence.count, 'call')} {unit(evidence)} ({calls.longest()})."
    )
    return finding(evidence, "memory", "memory", price, sentence, ("no_empty_cache",))
