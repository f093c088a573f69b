"""Input for free: the next batch is there when the loop asks for it, as with workers that keep up."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema

#: A wait for the next batch is named so in a stream.
WAIT_FOR_INPUT = "host::input"


def input_rows(stream: OpStream, sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows of host work that make or await the batch: `host::input`, and what runs on the host in the input phase."""
    calls = edit.calls_of(stream)
    waiting = edit.marked(stream, [call.op == WAIT_FOR_INPUT for call in calls], sites)
    on_host = edit.marked(stream, [not edit.on_device(call) and call.kind != schema.Kind.SYNC for call in calls], sites)
    rows: NDArray[np.bool_] = waiting | (on_host & (edit.phases(stream) == schema.Phase.INPUT))
    return rows


def without_input(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream whose batches cost the host nothing; what moves them to the device stays.

    It does not know whether the workers would keep up, nor what handing over a batch from another process costs.
    """
    rows = input_rows(stream, sites)
    if not rows.any():
        return stream
    host = edit.host_ns(stream)
    return edit.keep(edit.with_host(stream, np.where(rows, 0.0, host)), ~rows)
