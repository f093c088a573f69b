"""A recording settled: host times that the recording itself, or the machine under it, disturbed, are put right.

Three things disturb them. Another process takes the core away in one step of several: the pause is not there in each of them. On
a CPU, giving back a large tensor takes as long as a pause of the user's (a GPU's caching allocator does it in no time): it
stands beside an operation that is longer still. And a batch is made more slowly under the recorder than without it: the timing
pass knows how long the script really waited for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import edit, schema
from breakeven.timeline.opstream import OpStream

#: A wait for the next batch is named so in a stream.
WAIT_FOR_INPUT = "host::input"


def settled(stream: OpStream, *, input_ns: float | None = None) -> OpStream:
    """The stream with its host times put right.

    Args:
        stream: as recorded.
        input_ns: what one step of the undisturbed timing pass waits for its batch, ns; None: not measured.

    Returns:
        The same rows with other `host_ns`: at each position the least of the recorded steps of one sequence (the mean for
        work of the host that has a row of its own, which may differ from step to step); none where the
        pause is shorter than the operation on the CPU on either side of it; and waits for a batch that sum to what was measured.
    """
    host = _steady(stream, edit.host_ns(stream))
    host = np.where(_beside_large_operations(stream, host), 0.0, host)
    return edit.with_host(stream, _as_measured(stream, host, input_ns))


def least_cpu(stream: OpStream) -> OpStream:
    """The stream with the least time on the CPU at each position of the recorded steps of one sequence."""
    return edit.with_cpu(stream, _steady(stream, edit.cpu_ns(stream)))


def _steady(stream: OpStream, times_ns: NDArray[np.float64]) -> NDArray[np.float64]:
    """At each position what every one of the steps that issue the same calls needs; the mean for the host's own rows."""
    step, call = edit.column(stream, schema.ROW_STEP), edit.column(stream, schema.ROW_CALL)
    settled_ns = times_ns.copy()
    own = edit.marked(stream, [call.kind == schema.Kind.HOST for call in edit.calls_of(stream)])
    groups: dict[bytes, list[NDArray[np.int64]]] = {}
    for rows in np.split(np.arange(len(step)), np.flatnonzero(np.diff(step)) + 1):
        groups.setdefault(call[rows].tobytes(), []).append(rows)
    for same in groups.values():
        if len(same) > 1:
            times = np.nan_to_num(np.array([times_ns[rows] for rows in same]))
            needed = np.where(own[same[0]], times.mean(axis=0), times.min(axis=0))
            for rows in same:
                settled_ns[rows] = np.where(np.isnan(times_ns[rows]), np.nan, needed)
    return settled_ns


def _beside_large_operations(stream: OpStream, host: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows of the device whose pause is shorter than the operation on the CPU on either side of it."""
    took = np.nan_to_num(edit.cpu_ns(stream))
    before = np.maximum(np.concatenate([[0.0], took[:-1]]), took) if len(took) else took
    device = edit.marked(stream, [edit.on_device(call) for call in edit.calls_of(stream)])
    beside: NDArray[np.bool_] = device & (host < before)
    return beside


def _as_measured(stream: OpStream, host: NDArray[np.float64], input_ns: float | None) -> NDArray[np.float64]:
    """Waits for a batch scaled to what was measured without the recorder."""
    waits = edit.marked(stream, [call.op == WAIT_FOR_INPUT for call in edit.calls_of(stream)])
    recorded = float(np.nansum(host[waits]))
    if input_ns is None or recorded <= 0:
        return host
    return np.where(waits, host * (input_ns * stream.steps / recorded), host)
