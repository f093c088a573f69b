"""device_mismatch: a tensor on the host meets one on the GPU."""

from __future__ import annotations

from breakeven.diagnose.evidence import Evidence, seen
from breakeven.results.records import Finding


def device_mismatch(evidence: Evidence) -> Finding | None:
    """The script would fail on a GPU: an operation gets tensors from both devices.

    What it sees: the error that CUDA would raise, met in the recording, with its line, the names on it, and the lines that made
        them.
    Why it costs: everything: the script does not run on a GPU. The prices of the other findings hold for the repaired script.
    Evidence: the operation and its operands' devices, as recorded.
    Example: `h0 = torch.zeros(2, n, 64)` beside a model and data on `cuda`.
    Remedy: make the tensor on the device of the data (`device=x.device`), or move it once.
    When it is wrong: a zero-dimensional CPU tensor may meet a GPU one; those are not reported.
    """
    mismatches = evidence.facts.mismatches
    if not mismatches:
        return None
    first = mismatches[0]
    line = f" at line {first.site.line}" if first.site else ""
    names = f" ({first.operands})" if first.operands else ""
    return Finding(
        id="device_mismatch",
        device=evidence.device.name,
        cause="other",
        price_ms=None,
        sentence=f"On a GPU the script stops{line}{names}: {first.message.strip().rstrip('.')}.",
        sites=seen(*(m.site for m in mismatches), *(made for m in mismatches for made in m.made)),
        remedies=("move_to_device", "create_on_device"),
    )
