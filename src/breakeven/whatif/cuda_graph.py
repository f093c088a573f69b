"""One launch per step: the device's work replayed from a CUDA graph, so that the host no longer issues each operation."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Attribute of a call that a graph replays: the cost room charges no host time for it, and its kernels a graph's gap.
GRAPH = "graph"

_CAPTURED = (schema.Phase.FORWARD, schema.Phase.BACKWARD, schema.Phase.OPTIMIZER)


def graph_rows(stream: OpStream, sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows that a graph could hold and does not: operations on the device (views too) in forward, backward, optimizer."""
    calls = edit.calls_of(stream)
    on_device = [_capturable(call) for call in calls]
    return edit.marked(stream, on_device, sites) & np.isin(edit.phases(stream), _CAPTURED)


def cuda_graph(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream with every capturable operation (of these lines) marked `graph: 1`.

    The first operation of each step is not marked: what it costs the host to issue stands for the launch of the graph.
    Copies, waits and the user's own work between operations stay as they are. It does not know whether shapes stay the same
    from step to step, which a graph needs, nor what its capture costs.
    """
    rows = graph_rows(stream, sites)
    at = np.flatnonzero(rows)
    if len(at) < 2:
        return stream
    step = edit.column(stream, schema.ROW_STEP)
    inner = rows.copy()
    inner[at[np.flatnonzero(np.diff(step[at], prepend=step[at[0]] - 1))]] = False
    return edit.with_mapped(stream, inner, lambda call: edit.with_values(call, **{GRAPH: 1}))


def _capturable(call: Call) -> bool:
    on_device = call.kind == schema.Kind.COMPUTE and call.device.startswith(edit.ACCELERATOR)
    return on_device and not edit.values_of(call).get(GRAPH)
