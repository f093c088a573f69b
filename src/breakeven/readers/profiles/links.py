"""Which call launched which work: calls and device events that share a correlation id."""

from __future__ import annotations

import numpy as np

from breakeven.timeline.intervals import Ints


def launched_by(correlation: Ints, start: Ints, call_correlation: Ints, call_start: Ints) -> Ints:
    """For each device event the position of the call with its correlation id; -1: none.

    Where several calls share an id, it is the last one that began no later than the work; where none did, the first.

    Args:
        correlation: ids of the device events, shape (n,); negative: none.
        start: their starts, ns.
        call_correlation: ids of the calls, shape (m,); negative: none.
        call_start: their starts, ns.
    """
    with_id = np.flatnonzero(call_correlation >= 0)
    if not len(with_id) or not len(correlation):
        return np.full(len(correlation), -1, dtype=np.int64)
    calls = with_id[np.lexsort((call_start[with_id], call_correlation[with_id]))]
    ids = call_correlation[calls]
    first = np.searchsorted(ids, correlation, side="left")
    last = np.searchsorted(ids, correlation, side="right") - 1
    found = (correlation >= 0) & (last >= first)
    at = np.where(found, last, 0)
    late = np.flatnonzero(found & (call_start[calls[at]] > start) & (last > first))
    while len(late):
        at[late] -= 1
        late = late[(call_start[calls[at[late]]] > start[late]) & (at[late] > first[late])]
    return np.where(found, calls[at], -1)
