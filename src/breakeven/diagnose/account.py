"""The account: each nanosecond of a step has exactly one owner, for a device of any timeline.

While the device runs something, the owner is what it runs. While it runs nothing, idle is counted once over the union of
its streams, and the owner is found by the link of the work that ends the pause: what did the thread that launched it do
meanwhile? See docs/account.md for the rules and why they are so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from breakeven.diagnose.host_state import CAUSES, NOTHING, RUNS, HostState, host_state, says
from breakeven.diagnose.kernel_limits import device_cause
from breakeven.results import Share
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Intervals, Ints, distinct, first_owner, gaps, sums, union
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

#: A pause of the launching threads that no event explains is Python between operations up to this length, and unexplained
#: (`other`) beyond. In 17 public training traces 99 % of the pauses between operations are below 0.2 ms (median 13 µs),
#: and those above 1 ms hold set-up, compilation or the script's own work.
PYTHON_PAUSE_NS: Final = 1_000_000

#: What wins where several things run at once: arithmetic before traffic, kernels before collectives before copies.
_BUSY: Final = ("compute", "bandwidth", "small_kernel", "warmup", "communication", "copy")
#: What one thread does and all others wait for, because the driver holds its lock or stops the device meanwhile.
_STOPS_ALL: Final = [CAUSES.index(c) for c in ("memory", "warmup")]
_LAUNCH, _OTHER, _SYNC, _COPY = (CAUSES.index(c) for c in ("launch", "other", "sync", "copy"))


@dataclass(frozen=True)
class StepAccount:
    """One step: its parts in whole nanoseconds, which sum to its length."""

    name: str
    step: int
    start_ns: int
    duration_ns: int
    parts_ns: Mapping[str, int]  # every cause, in the order of CAUSES


@dataclass(frozen=True)
class DeviceAccount:
    """The account of one device, step by step; without step marks the whole is one step.

    Attributes:
        device: as the timeline calls it.
        steps: in order of time.
        marked: the steps come from marks; False: the whole.
    """

    device: str
    steps: tuple[StepAccount, ...]
    marked: bool

    def median(self) -> StepAccount:
        """The step of median length (the shorter middle one of an even number)."""
        return sorted(self.steps, key=lambda step: (step.duration_ns, step.start_ns))[(len(self.steps) - 1) // 2]

    def mean_shares(self) -> tuple[Share, ...]:
        """Parts of the mean step, milliseconds; what none of the steps has is left out."""
        whole = sum(step.duration_ns for step in self.steps)
        totals = {cause: sum(step.parts_ns[cause] for step in self.steps) for cause in self.steps[0].parts_ns}
        return tuple(
            Share(cause, ns / len(self.steps) / NS_PER_MS, ns / whole if whole else 0.0) for cause, ns in totals.items() if ns
        )


def shares(step: StepAccount) -> tuple[Share, ...]:
    """Parts of one step, milliseconds; what it does not have is left out."""
    whole = step.duration_ns
    return tuple(Share(cause, ns / NS_PER_MS, ns / whole) for cause, ns in step.parts_ns.items() if ns)


def account(timeline: Timeline, device: str, windows: Intervals | None = None) -> DeviceAccount:
    """Divide each step's wall time on one device among its causes.

    Args:
        timeline: measured, simulated or imported.
        device: one of the devices of its stream and copy lanes.
        windows: account for these stretches instead of the marked steps.

    Returns:
        One account per step mark; without marks one of the device's span, from its first event to its last.

    Raises:
        ValueError: the timeline holds no event of the device.
    """
    events = timeline.events
    lane = column(events, schema.EVENT_LANE)
    mine = np.isin(lane, [i for i, x in enumerate(timeline.lanes) if x.device == device and x.kind in ("stream", "copy")])
    mine &= (events[schema.EVENT_KIND.name] != Kind.STEP).to_numpy()
    if not mine.any():
        known = sorted({x.device for x in timeline.lanes if x.kind in ("stream", "copy")})
        raise ValueError(f"no event on {device!r}; devices with lanes: {', '.join(known) or 'none'}")
    names, steps, spans, marked = marked_windows(timeline, np.flatnonzero(mine), windows)
    pieces, owner = _pieces(timeline, np.flatnonzero(mine), int(spans.start.min()), int(spans.end.max()))
    by_cause = np.zeros((len(CAUSES), len(spans)), dtype=np.int64)
    for cause in np.unique(owner):
        held = Intervals(pieces.start[owner == cause], pieces.end[owner == cause])
        by_cause[cause] = sums(held, spans.start, spans.end)
    return DeviceAccount(device, tuple(
        StepAccount(
            names[i], steps[i], int(spans.start[i]), int(spans.end[i] - spans.start[i]),
            {cause: int(by_cause[c, i]) for c, cause in enumerate(CAUSES)},
        )
        for i in range(len(spans))
    ), marked)  # fmt: skip


def marked_windows(timeline: Timeline, mine: Ints, windows: Intervals | None) -> tuple[list[str], list[int], Intervals, bool]:
    """Names, numbers and spans of what is accounted for, and whether these are marked steps."""
    events = timeline.events
    if windows is not None:
        return [f"window {i}" for i in range(len(windows))], [-1] * len(windows), windows, False
    marks = events.filter((pl.col(schema.EVENT_KIND.name) == Kind.STEP) & (pl.col(schema.EVENT_DURATION.name) > 0))
    if marks.height:
        start = column(marks, schema.EVENT_START)
        spans = Intervals(start, start + column(marks, schema.EVENT_DURATION))
        return marks[schema.EVENT_NAME.name].to_list(), column(marks, schema.EVENT_STEP).tolist(), spans, True
    start, duration = column(events, schema.EVENT_START)[mine], column(events, schema.EVENT_DURATION)[mine]
    whole = Intervals(start.min(keepdims=True), (start + duration).max(keepdims=True))
    return ["the whole"], [-1], whole, False


def _pieces(timeline: Timeline, mine: Ints, low: int, high: int) -> tuple[Intervals, Ints]:
    """Disjoint pieces in order that cover at least [low, high), and the cause (position in CAUSES) that owns each."""
    events = timeline.events
    start = column(events, schema.EVENT_START)[mine]
    end = start + column(events, schema.EVENT_DURATION)[mine]
    cause = events[mine].select(device_cause()).to_series()
    rank = cause.replace_strict({name: i for i, name in enumerate(_BUSY)}, return_dtype=pl.Int64).to_numpy()
    busy, ranks = first_owner(start, end, rank, len(_BUSY))
    owner = np.array([CAUSES.index(name) for name in _BUSY], dtype=np.int64)[ranks]
    idle = gaps(union(start, end), min(low, int(start.min())), max(high, int(end.max())))
    idle_pieces, idle_owner = _idle(timeline, mine, idle)
    by_time = np.argsort(np.concatenate([busy.start, idle_pieces.start]), kind="stable")
    both = Intervals(
        np.concatenate([busy.start, idle_pieces.start])[by_time], np.concatenate([busy.end, idle_pieces.end])[by_time]
    )
    return both, np.concatenate([owner, idle_owner])[by_time]


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
    queued: Ints
    known: Ints
    refill: Ints
    refill_from: Ints
    refilled: Ints


def _idle(timeline: Timeline, mine: Ints, idle: Intervals) -> tuple[Intervals, Ints]:
    """Cut the device's pauses where their owner changes."""
    if not len(idle):
        return idle, np.zeros(0, dtype=np.int64)
    events = timeline.events
    told = says(events)
    lane = column(events, schema.EVENT_LANE)
    link = column(events, schema.EVENT_LINK)
    hosts = np.array([x.kind == "host" for x in timeline.lanes])
    launches = distinct(link[mine][link[mine] >= 0])
    launches = launches[hosts[lane[launches]]]
    copies = mine[(events[schema.EVENT_KIND.name] == Kind.COPY).to_numpy()[mine] & (link[mine] >= 0)]
    calls = link[copies]
    told[calls[told[calls] == RUNS]] = _COPY
    threads = _threads(lane[launches], hosts, lane)
    states = {t: host_state(events[np.flatnonzero(lane == t)], told[lane == t]) for t in threads}
    pauses = _pauses(events, mine, idle, launches, threads)
    parts = [_cut(pauses, np.flatnonzero(pauses.lane == t), t, states) for t in np.unique(pauses.lane)]
    start, end, owner = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    by_time = np.argsort(start, kind="stable")
    return Intervals(start[by_time], end[by_time]), owner[by_time]


def _threads(launching: Ints, hosts: Ints, lane: Ints) -> list[int]:
    """Host lanes that launch on the device, the busiest first; without links, all host lanes, the fullest first."""
    of = launching if len(launching) else lane[hosts[lane]]
    found, count = np.unique(of, return_counts=True)
    return [int(x) for x in found[np.argsort(-count, kind="stable")]]


def _pauses(events: pl.DataFrame, mine: Ints, idle: Intervals, launches: Ints, threads: list[int]) -> _Pauses:
    """Find for each pause the launch whose work ended it, and the wait that it refills after."""
    begin = column(events, schema.EVENT_START)
    done = begin + column(events, schema.EVENT_DURATION)
    link, lane = column(events, schema.EVENT_LINK), column(events, schema.EVENT_LANE)
    is_launch = np.zeros(len(begin) + 1, dtype=np.bool_)
    is_launch[launches] = True
    linked_first = mine[np.lexsort((~is_launch[link[mine]], begin[mine]))]
    at = np.searchsorted(begin[linked_first], idle.end)
    ends = linked_first[np.minimum(at, len(linked_first) - 1)]
    there = (at < len(linked_first)) & (begin[ends] == idle.end)
    launch = np.where(there & is_launch[link[ends]], link[ends], -1)
    known = launch >= 0
    first_thread = threads[0] if threads else -1
    issued = np.where(known, done[launch], idle.end)
    refill, refill_from, refilled = _refills(events, launches, np.where(known, launch, -1), threads)
    after_last = ~there & bool(len(launches))  # the host's doings go on after the device's last event
    return _Pauses(
        start=idle.start, end=idle.end, lane=np.where(known, lane[launch], first_thread),
        issued=np.clip(issued, idle.start, idle.end), queued=known & (issued <= idle.start), known=known | after_last,
        refill=refill, refill_from=refill_from, refilled=refilled,
    )  # fmt: skip


def _refills(events: pl.DataFrame, launches: Ints, launch: Ints, threads: list[int]) -> tuple[Ints, Ints, Ints]:
    """For each launch that is the first after a wait: the wait's cause, its end, and how far it is to blame.

    Without the wait the host would have gone on while it waited, and been ahead by no more than the wait's length.
    """
    begin, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    kind = events[schema.EVENT_KIND.name]
    on_thread = np.isin(column(events, schema.EVENT_LANE), threads)
    waits = np.flatnonzero(kind.is_in([Kind.SYNC, Kind.COPY]).to_numpy() & on_thread)
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
    cause = np.where((kind == Kind.COPY).to_numpy()[wait], _COPY, _SYNC)
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
    late = low >= pauses.issued[pause]  # issued, and the device has not begun
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


def _python(order: list[int], states: Mapping[int, HostState], time: Ints) -> Ints:
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
    short: Ints = seen & (until.astype(np.float64) - since.astype(np.float64) <= PYTHON_PAUSE_NS)
    return short
