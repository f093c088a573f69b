"""Who owns a device's pauses: found by the link of the work that ends each, from what the launching thread did meanwhile.

What it does not know: threads that launch nothing on the device, and what the device's own scheduler waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.host_state import CAUSES, NOTHING, RUNS, HostState, host_state, says
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Intervals, Ints, distinct
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

Bools = NDArray[np.bool_]

#: A pause of the launching threads that no event explains is Python between operations up to this length, and unexplained
#: (`other`) beyond. In 17 public training traces 99 % of the pauses between operations are below 0.2 ms (median 13 µs),
#: and those above 1 ms hold set-up, compilation or the script's own work.
PYTHON_PAUSE_NS: Final = 1_000_000

#: What one thread does and all others wait for, because the driver holds its lock or stops the device meanwhile.
_STOPS_ALL: Final = [CAUSES.index(c) for c in ("memory", "warmup")]
_LAUNCH, _OTHER, _SYNC, _COPY = (CAUSES.index(c) for c in ("launch", "other", "sync", "copy"))


def owners(timeline: Timeline, mine: Ints, idle: Intervals) -> tuple[Intervals, Ints]:
    """Cut the device's pauses where their owner changes.

    Args:
        timeline: the whole.
        mine: positions of the device's events.
        idle: its pauses, in order.

    Returns:
        Pieces in order that cover the pauses, and the cause (position in CAUSES) that owns each.
    """
    if not len(idle):
        return idle, np.zeros(0, dtype=np.int64)
    events = timeline.events
    told = says(timeline)
    copying = timeline.kinds.among(Kind.COPY)
    begin, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    lane = column(events, schema.EVENT_LANE)
    link = column(events, schema.EVENT_LINK)
    hosts = np.array([x.kind == "host" for x in timeline.lanes])
    launches = distinct(link[mine][link[mine] >= 0])
    launches = launches[hosts[lane[launches]]]
    copies = mine[copying[mine] & (link[mine] >= 0)]
    calls = link[copies]
    told[calls[told[calls] == RUNS]] = _COPY
    threads = _threads(timeline, lane[launches] if len(launches) else lane[hosts[lane]])
    unmarked = ~timeline.kinds.among(Kind.STEP)
    states = {t: host_state(begin[on], length[on], told[on]) for t in threads for on in [(lane == t) & unmarked]}
    pauses = _pauses(timeline, mine, idle, launches, threads)
    parts = [_cut(pauses, np.flatnonzero(pauses.lane == t), t, states) for t in np.unique(pauses.lane)]
    start, end, owner = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    by_time = np.argsort(start, kind="stable")
    return Intervals(start[by_time], end[by_time]), owner[by_time]


@dataclass(frozen=True)
class _Pauses:
    """The device's pauses, and what is known of how each ended. Shape (n,) each.

    Attributes:
        start: ns.
        end: ns.
        lane: host lane that launched the work that ended it; -1: not known.
        issued: when that launch was done; at least `start`, at most `end`.
        queued: the work had been issued before the pause began: the device itself was late.
        known: there is a launch to go by.
        refill: cause (position in CAUSES) that the launching host's time up to `refilled` falls to; -1: none.
        refill_from: end of the wait that emptied the queue.
        refilled: end of the stretch that it is to blame for.
    """

    start: Ints
    end: Ints
    lane: Ints
    issued: Ints
    queued: Bools
    known: Bools
    refill: Ints
    refill_from: Ints
    refilled: Ints


def _threads(timeline: Timeline, lanes: Ints) -> list[int]:
    """Host lanes that launch on the device, the busiest first; without links, all host lanes, the fullest first."""
    found, count = np.unique(lanes, return_counts=True)
    return sorted(found.tolist(), key=lambda lane: (-int(count[found == lane][0]), timeline.lanes[lane].name))


def _pauses(timeline: Timeline, mine: Ints, idle: Intervals, launches: Ints, threads: list[int]) -> _Pauses:
    """Find for each pause the launch whose work ended it, and the wait that it refills after."""
    events = timeline.events
    begin = column(events, schema.EVENT_START)
    done = begin + column(events, schema.EVENT_DURATION)
    link, lane = column(events, schema.EVENT_LINK), column(events, schema.EVENT_LANE)
    is_launch = np.zeros(len(begin) + 1, dtype=np.bool_)
    is_launch[launches] = True
    runs = mine[done[mine] > begin[mine]]
    told = is_launch[link[runs]]  # of those that begin together, the one that was issued first ended the pause
    linked_first = runs[np.lexsort((lane[link[runs]], begin[link[runs]], done[link[runs]], ~told, begin[runs]))]
    at = np.searchsorted(begin[linked_first], idle.end)
    ends = np.append(linked_first, 0)[at]
    there = (at < len(linked_first)) & (begin[ends] == idle.end)
    launch = np.where(there & is_launch[link[ends]], link[ends], -1)
    known = launch >= 0
    first_thread = threads[0] if threads else -1
    issued = np.where(known, done[launch], idle.end)
    refill, refill_from, refilled = _refills(timeline, launches, np.where(known, launch, -1), threads)
    after_last = ~there & bool(len(launches))  # the host's doings go on after the device's last event
    return _Pauses(
        start=idle.start, end=idle.end, lane=np.where(known, lane[launch], first_thread),
        issued=np.clip(issued, idle.start, idle.end), queued=known & (issued <= idle.start), known=known | after_last,
        refill=refill, refill_from=refill_from, refilled=refilled,
    )  # fmt: skip


def _refills(timeline: Timeline, launches: Ints, launch: Ints, threads: list[int]) -> tuple[Ints, Ints, Ints]:
    """For each launch that is the first after a wait: the wait's cause, its end, and how far it is to blame.

    Without the wait the host would have gone on while it waited, and been ahead by no more than the wait's length.
    """
    events = timeline.events
    begin, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    copying = timeline.kinds.among(Kind.COPY)
    waits = np.flatnonzero(copying | timeline.kinds.among(Kind.SYNC))
    waits = waits[np.isin(column(events, schema.EVENT_LANE)[waits], threads)]
    none = np.full(len(launch), -1, dtype=np.int64)
    if not len(waits) or not len(launches):
        return none, none, none
    waits = waits[np.argsort((begin + length)[waits], kind="stable")]
    ended = (begin + length)[waits]
    last = np.searchsorted(ended, begin[launch], side="right") - 1
    wait = waits[np.maximum(last, 0)]
    order = np.sort(begin[launches])
    before = np.searchsorted(order, begin[launch], side="left") - 1
    first = (launch >= 0) & (last >= 0) & ((before < 0) | (order[np.maximum(before, 0)] < ended[np.maximum(last, 0)]))
    cause = np.where(copying[wait], _COPY, _SYNC)
    until = ended[np.maximum(last, 0)] + length[wait]
    return np.where(first, cause, -1), np.where(first, ended[np.maximum(last, 0)], -1), np.where(first, until, -1)


def _cut(pauses: _Pauses, which: Ints, lane: int, states: Mapping[int, HostState]) -> tuple[Ints, Ints, Ints]:
    """Pieces of the pauses that one thread's launches ended, and their owners."""
    order = [lane] if lane in states else []
    order += [other for other in states if other != lane]
    start, end = pauses.start[which], pauses.end[which]
    cuts = [start, end, pauses.issued[which], pauses.refill_from[which], pauses.refilled[which]]
    edges = distinct(np.concatenate(cuts + [states[t].since for t in order]))
    edges = edges[(edges >= start[0]) & (edges <= end[-1])]
    low, high = edges[:-1], edges[1:]
    at = np.searchsorted(start, low, side="right") - 1
    inside = high <= end[at]
    low, high, pause = low[inside], high[inside], which[at[inside]]
    state = _state(order, states, low)
    for other in order[1:]:
        elsewhere = states[other].at(low)
        state = np.where((state >= RUNS) & np.isin(elsewhere, _STOPS_ALL), elsewhere, state)
    owner = np.where(state < RUNS, state, np.where((state == RUNS) & pauses.known[pause], _LAUNCH, _OTHER))
    short = _python(order, states, low)
    owner[(state == NOTHING) & pauses.known[pause] & short] = _LAUNCH
    late = (low >= pauses.issued[pause]) & ~np.isin(state, _STOPS_ALL)  # issued, and the device has not begun
    owner[late] = np.where(pauses.queued[pause], _OTHER, _LAUNCH)[late]
    refills = (pauses.refill[pause] >= 0) & (low >= pauses.refill_from[pause]) & (high <= pauses.refilled[pause])
    refills &= (owner == _LAUNCH) & ~(late & pauses.queued[pause])
    owner[refills] = pauses.refill[pause][refills]
    return low, high, owner


def _state(order: list[int], states: Mapping[int, HostState], time: Ints) -> Ints:
    """State of the first of these threads that shows any."""
    found = np.full(len(time), NOTHING, dtype=np.int64)
    for thread in order:
        unseen = found == NOTHING
        found[unseen] = states[thread].at(time[unseen])
    return found


def _python(order: list[int], states: Mapping[int, HostState], time: Ints) -> Bools:
    """Whether a time at which no thread shows anything lies in a pause short enough to be Python between operations."""
    since = np.full(len(time), np.iinfo(np.int64).min)
    until = np.full(len(time), np.iinfo(np.int64).max)
    for thread in order:
        changes = states[thread].since
        if not len(changes):
            continue
        at = np.searchsorted(changes, time, side="right")
        since = np.maximum(since, np.where(at > 0, changes[np.maximum(at - 1, 0)], since))
        until = np.minimum(until, np.where(at < len(changes), changes[np.minimum(at, len(changes) - 1)], until))
    seen = (since > np.iinfo(np.int64).min) & (until < np.iinfo(np.int64).max)
    short: Bools = seen & (until.astype(np.float64) - since.astype(np.float64) <= PYTHON_PAUSE_NS)
    return short
