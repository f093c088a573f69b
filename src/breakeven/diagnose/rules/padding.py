"""padding: much of the work is done on padding."""

from __future__ import annotations

import numpy as np

from breakeven.diagnose.evidence import Evidence, seen, share
from breakeven.diagnose.wording import of_step, percent
from breakeven.results.facts import Padding
from breakeven.results.records import Finding, Interval
from breakeven.timeline import edit
from breakeven.whatif.without_padding import without_padding

#: Device name of findings about the CPU.
CPU = "cpu"

#: Under this part of padding a batch counts as well filled: sorted batches keep some.
LEAST_PADDING = 0.15

#: A price under this part of the GPU's step, and the finding is one about the CPU.
WORTH = 0.04


def padding(evidence: Evidence) -> Finding | None:
    """Sequences of different lengths are padded to one length, and the padding is computed like the rest.

    What it sees: padding in what an embedding looks up, in packed or padded sequences: elements in all, and real ones.
    Why it costs: a recurrent layer runs as many time steps as the longest sequence has; everything after it has as many rows.
    Evidence: the step simulated with the time dimension cut to the real part; on the CPU that part of its measured
        operations.
    Example: reviews of 5 to 200 words in random order, all padded to the longest of the set.
    Remedy: batches of similar length, padded to the longest of the batch.
    When it is wrong: where a fixed shape is wanted (a CUDA graph, a compiler).
    """
    found = [p for p in evidence.facts.padding if p.total > 0 and not p.packed and 1 - p.real / p.total >= LEAST_PADDING]
    if not found:
        return None
    worst = max(found, key=lambda p: p.total - p.real)
    real = max(worst.real, 1) / worst.total
    price = evidence.price(without_padding(evidence.stream, worst.timesteps, real))
    said = f"{percent(1 - real)} of each batch is padding (to {worst.timesteps} time steps)"
    if price.mid >= WORTH * evidence.step_ms:
        gain = of_step(price.mid, evidence.step_ms)
        sentence = f"{said}; batches of similar length would save {gain}."
        return _finding(evidence.device.name, price, sentence, found)
    return _on_cpu(evidence, real, said, found)


def _on_cpu(evidence: Evidence, real: float, said: str, found: list[Padding]) -> Finding | None:
    """The same on the CPU, where its operations on activations shrink with their elements."""
    step = evidence.cpu.step_ms
    if step is None:
        return None
    measured = np.nan_to_num(edit.cpu_ns(evidence.stream))
    kernels = min(evidence.per_step(measured > 0, measured) / 1e6, step.mid)
    fixed = evidence.per_step(evidence.phase("optimizer"), measured) / 1e6
    saved = max(0.0, min(kernels - fixed, step.mid)) * (1 - real)
    price = Interval(0.0, saved, min(step.mid, share(saved, 1 - real)))
    return _finding(CPU, price, f"{said}; batches of similar length would save the CPU about {of_step(saved, step.mid)}.", found)


def _finding(device: str, price: Interval, sentence: str, found: list[Padding]) -> Finding:
    sites = seen(*(p.site for p in sorted(found, key=lambda p: p.real - p.total)))
    return Finding("padding", device, "compute", price, sentence, sites, ("bucket_lengths",))
