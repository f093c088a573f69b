"""compute_bound, bandwidth_bound, small_kernel: what the device does while it is busy, in a trace. Advice, not a fault."""

from __future__ import annotations

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part, unit
from breakeven.diagnose.imported.seen import Seen
from breakeven.diagnose.wording import count
from breakeven.results.records import Finding, Interval


def small_kernel(evidence: TraceEvidence) -> Finding | None:
    """Kernels too small to fill the device: mostly their fixed cost.

    What it sees: kernels of a few microseconds.
    Why it costs: each has a floor of 2 to 4 µs, whatever it computes.
    Evidence: the account's part `small_kernel`.
    Example: element-wise operations on a thousand numbers.
    Remedy: larger batches; operations joined by torch.compile.
    When it is wrong: where the device waits for the host anyway, larger kernels alone change nothing.
    """
    if evidence.on_cpu:
        return None
    price = evidence.price("small_kernel")
    few = len(_events(evidence, "small_kernel")) / evidence.count
    sentence = f"{count(few, 'kernel')} {unit(evidence)} are too small to fill the GPU: together {part(evidence, price)}."
    return finding(evidence, "small_kernel", "small_kernel", price, sentence, ("larger_batch", "compile"))


def compute_bound(evidence: TraceEvidence) -> Finding | None:
    """Most of the step is arithmetic.

    What it sees: kernels of products and convolutions.
    Why it costs: that is the work itself.
    Evidence: the account's part `compute`.
    Example: a large model at a large batch.
    Remedy: a lower precision where it is safe, or a faster device.
    When it is wrong: a kernel's name does not show how well it uses the device.
    """
    return _busy(evidence, "compute_bound", "compute", "Arithmetic takes", ("autocast", "tf32"))


def bandwidth_bound(evidence: TraceEvidence) -> Finding | None:
    """Most of the step is traffic with the device's own memory.

    What it sees: kernels other than products and convolutions.
    Why it costs: they read and write more than they calculate.
    Evidence: the account's part `bandwidth`.
    Example: chains of element-wise operations on large tensors.
    Remedy: operations joined by torch.compile, a lower precision, channels_last for convolutions.
    When it is wrong: a kernel's name does not show what limits it.
    """
    return _busy(evidence, "bandwidth_bound", "bandwidth", "Moving data in memory takes", ("compile", "autocast"))


def _busy(evidence: TraceEvidence, name: str, cause: str, words: str, remedies: tuple[str, ...]) -> Finding | None:
    price: Interval = evidence.price(cause)
    if price.mid <= 0:
        return None
    top = "" if evidence.on_cpu else f", most of it in {_events(evidence, cause).longest()}"
    return finding(evidence, name, cause, price, f"{words} {part(evidence, price)}{top}.", () if evidence.on_cpu else remedies)


def _events(evidence: TraceEvidence, cause: str) -> Seen:
    mine = evidence.on_device.where(evidence.device_causes.among(cause))
    return Seen(mine.timeline, mine.at[evidence.within[mine.at]])
