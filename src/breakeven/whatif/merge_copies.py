"""Merged copies: many small copies of one line become one of their bytes together."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema

#: Copies that can be merged: those that bring data to the device.
TO_DEVICE = "copy::h2d"

#: From so many copies of one line in one step on, a loop over samples is what makes them.
MANY = 4


def repeated_copies(stream: OpStream, sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows of copies to the device of which a line makes `MANY` or more in one step."""
    rows = edit.marked(stream, [call.op == TO_DEVICE for call in edit.calls_of(stream)], sites)
    rows &= edit.column(stream, schema.ROW_SITE) >= 0
    group = _groups(stream)
    counts = np.bincount(group[rows], minlength=int(group.max(initial=0)) + 1)
    many: NDArray[np.bool_] = rows & (counts[group] >= MANY)
    return many


def merge_copies(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream with one copy in the place of each line's many; the Python of the loop goes with the copies.

    The stacking on the host that comes before the one copy is not in it: it is a copy in host memory.
    """
    rows = repeated_copies(stream, sites)
    if not rows.any():
        return stream
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    group = np.where(rows, _groups(stream), -1)
    size = np.array([int(edit.values_of(c).get("bytes") or 0) for c in calls])[call]
    put, kept = {}, ~rows
    for one in np.unique(group[rows]):
        members = np.flatnonzero(group == one)
        last = int(members[-1])
        whole = replace(calls[call[last]], inputs=(), input_dtypes=(), parameters=(), outputs=())
        put[last] = edit.with_values(whole, bytes=int(size[members].sum()))
        kept[last] = True
    return edit.keep(edit.with_replaced(stream, put), kept, carry_host=False)


def _groups(stream: OpStream) -> NDArray[np.int64]:
    """One number per (step, line)."""
    site = edit.column(stream, schema.ROW_SITE) + 1
    return edit.column(stream, schema.ROW_STEP) * (int(site.max(initial=0)) + 1) + site
