"""Without waits: metrics stay on the device. Sync rows go, and with them the copies back that they read."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema

#: Copies back to the host are named so in a stream.
COPY_BACK = "copy::d2h"


def sync_rows(stream: OpStream, sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows at which the host waits for a value (a clock's own `synchronize` included)."""
    return edit.marked(stream, [call.kind == schema.Kind.SYNC for call in edit.calls_of(stream)], sites)


def without_syncs(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream whose host never waits for a value at these lines.

    A copy back is dropped where it is what a dropped wait waits for, or where it waits itself. The Python around stays.
    It does not know whether the value steers the loop: a test of it must then be made less often instead.
    """
    calls = edit.calls_of(stream)
    syncs = sync_rows(stream, sites)
    back = edit.marked(stream, [call.op == COPY_BACK for call in calls])
    waits = edit.column(stream, schema.ROW_WAITS)
    waited_for = np.zeros(len(stream), dtype=bool)
    waited_for[waits[syncs & (waits >= 0)]] = True
    at_site = back & (waits >= 0)
    if sites is not None:
        at_site &= np.isin(edit.column(stream, schema.ROW_SITE), list(sites))
    return edit.keep(stream, ~(syncs | (back & waited_for) | at_site))
