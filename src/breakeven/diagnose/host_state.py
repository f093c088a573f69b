"""What a host thread was doing at any time: the account's cause of its innermost event that has one, or only that it ran.

What it does not know: threads that the timeline does not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from breakeven.timeline import schema
from breakeven.timeline.intervals import Ints, distinct, union
from breakeven.timeline.nesting import nesting
from breakeven.timeline.timeline import column

#: Causes of the account, in the order of the design; a state below this many is the cause with that position.
CAUSES: Final = (
    "compute", "bandwidth", "small_kernel", "launch", "sync", "copy", "input", "warmup", "memory", "communication", "other",
)  # fmt: skip
RUNS: Final = len(CAUSES)  # some event, none that says why
NOTHING: Final = len(CAUSES) + 1  # no event

_BY_KIND = {
    schema.Kind.SYNC: "sync", schema.Kind.ALLOC: "memory", schema.Kind.COPY: "copy", schema.Kind.COMMUNICATION: "communication",
}  # fmt: skip


@dataclass(frozen=True)
class HostState:
    """State of one lane over time: `state[i]` holds from `since[i]` to `since[i + 1]`; before the first it is NOTHING."""

    since: Ints
    state: Ints

    def at(self, time: Ints) -> Ints:
        """State at each time."""
        found: Ints = np.concatenate([[NOTHING], self.state])[np.searchsorted(self.since, time, side="right")]
        return found


def says(events: pl.DataFrame) -> Ints:
    """Cause that each host event gives (position in CAUSES), or RUNS where it gives none. Shape (n,).

    Its own `cause` counts first, then its kind; a launch whose device work is a copy counts as a copy.
    """
    own = events[schema.EVENT_CAUSE.name].replace_strict(
        {c: i for i, c in enumerate(CAUSES)}, default=None, return_dtype=pl.Int64
    )
    kind = events[schema.EVENT_KIND.name].replace_strict(
        {k: CAUSES.index(c) for k, c in _BY_KIND.items()}, default=RUNS, return_dtype=pl.Int64
    )
    found: Ints = pl.select(pl.coalesce(own, kind)).to_series().to_numpy().copy()
    return found


def host_state(events: pl.DataFrame, told: Ints) -> HostState:
    """State of one lane from its events (which nest) and what they say (`says`)."""
    start, duration = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    shown = (duration > 0) & (events[schema.EVENT_KIND.name] != schema.Kind.STEP).to_numpy()
    reason = _innermost(*(values[shown & (told < RUNS)] for values in (start, duration, told)))
    covered = union(start[shown], (start + duration)[shown])
    since = distinct(np.concatenate([reason.since, covered.start, covered.end]))
    runs = np.searchsorted(covered.start, since, side="right") > np.searchsorted(covered.end, since, side="right")
    why = reason.at(since)
    return HostState(since, np.where(why < RUNS, why, np.where(runs, RUNS, NOTHING)))


def _innermost(start: Ints, duration: Ints, told: Ints) -> HostState:
    """What the innermost of nested events says, over time."""
    found = nesting(np.zeros(len(start), dtype=np.int64), start, duration)
    outer = np.where(found.parent >= 0, told[np.maximum(found.parent, 0)], NOTHING) if len(told) else told
    time = np.concatenate([start, start + duration])
    becomes = np.concatenate([told, outer])
    begins = np.repeat([1, 0], len(start))
    depth = np.concatenate([found.depth, -found.depth])  # at one instant: inner ones end first, outer ones begin first
    by_time = np.lexsort((depth, begins, time))
    time, becomes = time[by_time], becomes[by_time]
    last = np.append(time[1:] != time[:-1], True) if len(time) else np.zeros(0, dtype=np.bool_)
    return HostState(time[last], becomes[last])
