"""transfer_bound: the step waits for copies between host and device."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence, sites_of
from breakeven.diagnose.wording import count, of_step, size
from breakeven.results.records import Finding
from breakeven.timeline import edit, schema
from breakeven.whatif.create_on_device import create_on_device, made_and_sent
from breakeven.whatif.merge_copies import merge_copies, repeated_copies
from breakeven.whatif.pinned_copies import pinned_copies
from breakeven.whatif.without_copies import copy_rows, without_copies

#: The direction that brings data to the device; a value that is read back is `sync_bound`'s.
TO_DEVICE = ("copy::h2d",)

#: A remedy that saves less than this part of the step is not named.
WORTH = 0.02


def transfer_bound(evidence: Evidence) -> Finding | None:
    """Batches, or tensors made on the host, are copied to the device in every step.

    What it sees: copies from the host in the step, their bytes, whether they come from pinned memory, and the line.
    Why it costs: a copy from ordinary (pageable) memory makes the host wait and goes through a staging buffer; many small
        ones cost a call each.
    Evidence: the step simulated without these copies.
    Example: `x = x.to('cuda')` for each sample, `torch.randn(n).to('cuda')` in `forward`.
    Remedy: what the stream shows a reason for: make it on the device, merge the copies, pin the memory, keep the data on the
        device.
    When it is wrong: data that do not fit into the device's memory have to be sent.
    """
    stream = evidence.stream
    rows = copy_rows(stream, ops=TO_DEVICE)
    if not rows.any():
        return None
    price = evidence.price(without_copies(stream, ops=TO_DEVICE))
    return Finding(
        id="transfer_bound",
        device=evidence.device.name,
        cause="copy",
        price_ms=price,
        sentence=(
            f"{'The run' if stream.unit == 'run' else 'Every step'} sends {size(_bytes(evidence, rows))} to the GPU in "
            f"{count(evidence.per_step(rows), 'copy', 'copies')}; "
            f"without copying it would save {of_step(max(0.0, price.mid), evidence.step_ms)}."
        ),
        sites=sites_of(evidence, rows, lambda at: without_copies(stream, at, ops=TO_DEVICE)),
        remedies=_remedies(evidence),
    )


def _bytes(evidence: Evidence, rows: NDArray[np.bool_]) -> float:
    sizes = np.array([float(edit.values_of(c).get("bytes") or 0) for c in edit.calls_of(evidence.stream)])
    return evidence.per_step(rows, sizes[edit.column(evidence.stream, schema.ROW_CALL)])


def _remedies(evidence: Evidence) -> tuple[str, ...]:
    stream, worth = evidence.stream, WORTH * evidence.step_ms
    named = []
    if made_and_sent(stream)[0].any() and evidence.price(create_on_device(stream)).mid >= worth:
        named.append("create_on_device")
    if repeated_copies(stream).any() and evidence.price(merge_copies(stream)).mid >= worth:
        named.append("merge_copies")
    pinned = pinned_copies(stream)
    if pinned is not stream and evidence.price(pinned).mid >= worth:
        named.append("pin_memory")
    return (*named, "data_on_device")
