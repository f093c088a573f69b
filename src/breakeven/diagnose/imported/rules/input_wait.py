"""input_bound: the step waits for its batch, in a trace."""

from __future__ import annotations

import re

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.diagnose.wording import percent
from breakeven.results.records import Finding

#: A loader that takes more than this many times its median in some steps waits in bursts: its workers have fallen behind.
_BURSTS = 5.0
_SEVERAL = re.compile("MultiProcess")


def input_bound(evidence: TraceEvidence) -> Finding | None:
    """The device has nothing to do while the host fetches the next batch.

    What it sees: idle time of the device that ends with work launched by a thread that was in the data loader.
    Why it costs: the batch is made, or waited for, one after the other with the step.
    Evidence: the account's part `input`, averaged over the steps.
    Example: `DataLoader(num_workers=0)` with a data set that decodes images.
    Remedy: worker processes that stay; more of them where they cannot keep up.
    When it is wrong: where the loader waits for something else, such as a download.
    """
    price = evidence.price("input")
    if price.mid <= 0:
        return None
    calls = evidence.on_host.where(evidence.timeline.causes.among("input"))
    several = len(calls.named(_SEVERAL)) > 0
    parts = evidence.parts_ms["input"][evidence.usual]
    bursts = several and len(parts) >= 4 and parts.max() > _BURSTS * max(float(np.median(parts)), 0.01 * evidence.step_ms.mid)
    waiting = "CPU" if evidence.on_cpu else "GPU"
    how = (
        f"its worker processes fall behind in {percent(float((parts > 0.1 * evidence.step_ms.mid).mean()))} of the steps"
        if bursts
        else "its worker processes cannot make batches as fast as they are used"
        if several
        else "the training process makes the batch itself"
    )
    remedies = ("loader_workers", "prefetch") if several else ("loader_workers", "persistent_workers", "prefetch")
    sentence = f"The {waiting} waits for the data loader {part(evidence, price)}: {how}{_cure(evidence, several)}."
    return finding(evidence, "input_bound", "input", price, sentence, remedies)


def _cure(evidence: TraceEvidence, several: bool) -> str:
    """How many workers would hide the loading, where the trace shows how long a batch takes to make."""
    if several:
        return ""
    step, loading = float(evidence.lengths_ms.mean()), float(evidence.parts_ms["input"].mean())
    rest = step - loading
    workers = int(np.ceil(loading / rest)) if rest > 0 else 0
    return f"; {max(1, workers)} worker process{'es' if workers > 1 else ''} would keep up" if 0 < workers < 64 else ""
