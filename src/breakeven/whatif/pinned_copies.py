"""Pinned memory: copies to the device come from page-locked memory and are not waited for."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from breakeven.timeline import OpStream, edit, schema

#: Only what goes to the device: a value that is read back has to be waited for either way.
TO_DEVICE = "copy::h2d"


def pinned_copies(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream whose copies to the device at these lines are pinned and `non_blocking`.

    It does not know what pinning itself costs the host (a loader's thread does it beside the training).
    """
    calls = edit.calls_of(stream)
    wanted = [call.op == TO_DEVICE and not _free(edit.values_of(call)) for call in calls]
    rows = edit.marked(stream, wanted, sites)
    if not rows.any():
        return stream
    pinned = edit.with_mapped(stream, rows, lambda call: edit.with_values(call, pinned=True, non_blocking=True))
    return edit.with_waits(pinned, np.where(rows, -1, edit.column(stream, schema.ROW_WAITS)))


def _free(values: dict[str, object]) -> bool:
    return bool(values.get("pinned")) and bool(values.get("non_blocking"))
