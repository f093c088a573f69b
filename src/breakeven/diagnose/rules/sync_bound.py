"""sync_bound: the host stops to read a value from the GPU, and the GPU runs dry meanwhile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence, sites_of
from breakeven.diagnose.wording import of_step, often
from breakeven.results.records import Finding
from breakeven.timeline import edit, schema
from breakeven.whatif.without_syncs import sync_rows, without_syncs

#: What the user wrote, by the operation that waits.
_WRITTEN = {
    "sync::item": ".item()", "sync::bool": "a tensor as a condition", "sync::tolist": ".tolist()",
    "sync::print": "print of a tensor",
    "sync::nonzero": "a mask as an index", "sync::synchronize": "synchronize()", "copy::d2h": ".cpu()",
}  # fmt: skip


def sync_bound(evidence: Evidence) -> Finding | None:
    """The host waits for the GPU in every step.

    What it sees: `.item()`, `print(tensor)`, `if tensor:`, `.tolist()`, `.cpu()`, masks as indices: each needs a value that
        the GPU has yet to compute.
    Why it costs: the host cannot issue ahead while it waits, so the queue runs empty and has to be filled again.
    Evidence: the step simulated with and without the waits and their copies back. On a GPU that is busy all the time the host
        waits anyway, and the price is nothing.
    Example: `total += loss.item()` in every step.
    Remedy: add up on the device (`total += loss.detach()`) and read once an epoch.
    When it is wrong: where the value decides what the loop does next (early stopping): test it less often.
    """
    stream = evidence.stream
    rows = _waiting(evidence)
    if not rows.any():
        return None
    price = evidence.price(without_syncs(stream))
    sites = sites_of(evidence, rows, lambda at: without_syncs(stream, at))
    calls = edit.calls_of(stream)
    kinds = dict.fromkeys(
        _WRITTEN.get(calls[c].op, calls[c].op.split("::")[-1]) for c in edit.column(stream, schema.ROW_CALL)[rows]
    )
    where = f" at line {sites[0].line}" if sites else ""
    return Finding(
        id="sync_bound",
        device=evidence.device.name,
        cause="sync",
        price_ms=price,
        sentence=(
            f"The host stops {often(evidence.per_step(rows))} a step to wait for the GPU "
            f"({', '.join(list(kinds)[:3])}{where}), and the GPU then waits for the host: "
            f"{of_step(max(0.0, price.mid), evidence.step_ms)}."
        ),
        sites=sites,
        remedies=("metrics_on_device",),
    )


def _waiting(evidence: Evidence) -> NDArray[np.bool_]:
    """Rows that wait for a value: syncs, and copies back that wait themselves without one."""
    stream = evidence.stream
    syncs = sync_rows(stream)
    waits = edit.column(stream, schema.ROW_WAITS)
    back = edit.marked(stream, [call.op == "copy::d2h" for call in edit.calls_of(stream)]) & (waits >= 0)
    back[waits[syncs & (waits >= 0)]] = False
    rows: NDArray[np.bool_] = syncs | back
    return rows
