"""What a host thread was doing at any time: the account's cause of its innermost event that has one, or only that it ran.

What it does not know: threads that the timeline does not show.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Ints, distinct, union
from breakeven.timeline.nesting import nesting

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


def says(timeline: Timeline) -> Ints:
    """Cause that each event of a host gives (position in CAUSES), or RUNS where it gives none. Shape (n,).

    Its own `cause` counts first, then its kind; a launch whose device work is a copy counts as a copy.
    """
    kinds, causes = timeline.kinds, timeline.causes
    by_kind = np.array([CAUSES.index(_BY_KIND[k]) if k in _BY_KIND else RUNS for k in kinds.values] or [RUNS], dtype=np.int64)
    found: Ints = by_kind[kinds.codes]
    stated = np.array([CAUSES.index(c) if c in CAUSES else -1 for c in causes.values] + [-1], dtype=np.int64)[causes.codes]
    return np.where(stated >= 0, stated, found)


def host_state(start: Ints, duration: Ints, told: Ints) -> HostState:
    """State of one lane from its events (which nest; marks of steps left out) and what they say (`says`)."""
    shown = duration > 0
    start, duration, told = start[shown], duration[shown], told[shown]
    gives = told < RUNS
    reason = _innermost(start[gives], duration[gives], told[gives])
    covered = union(start, start + duration)
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
