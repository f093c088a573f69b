"""A trace's own operations through the simulator: its host times and its kernel times as they were recorded, its waits and its
queues as the simulator plays them.

What it does not know: events between streams that the trace does not record; it takes them to be where a kernel began late,
just after one of another stream ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.imported.copies import FROM_DEVICE, TO_DEVICE
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.simulate import QUEUE_LIMIT, Engine, Schedule, ends, plain
from breakeven.timeline import schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

#: A kernel that begins this soon after one of another stream waited for it: the longest that a device takes to pass an event on.
_PASSING_NS: Final = 20_000

#: A copy's call issues it within this time; beyond that the call waits.
_ISSUING_NS: Final = 30_000

#: Part of the launch queue from which on a long launch call is one that waits for room.
_NEARLY_FULL: Final = 0.9

#: What a point of the host's time is: it launches, waits, waits for its own copy, or is the edge of a step.
_LAUNCH, _WAIT, _BLOCKING, _EDGE = range(4)


@dataclass(frozen=True)
class OwnTimes:
    """A schedule of a trace, and where its steps lie in it.

    Attributes:
        schedule: one issue per launched work, wait and edge.
        begins: issue at whose end each step begins, shape (steps,).
        done: issue at whose end it is done.
        work: event of the timeline that each issue runs on the device; -1: none. Shape (issues,).
        call: event of the host that each issue is (a launch, a wait); -1: an edge, or the further kernels of one launch.
        since: where the host's time before each issue begins in the trace, ns.
        until: where it ends, and the call begins.
    """

    schedule: Schedule
    begins: Ints
    done: Ints
    work: Ints
    call: Ints
    since: Ints
    until: Ints

    def step_ms(self) -> float:
        """The median step as the simulator plays it, ms."""
        free = ends(self.schedule).free[:, 0]
        return float(np.median(free[self.done] - free[self.begins])) / NS_PER_MS

    def steps_ms(self, schedule: Schedule, device_ns: Ints | None = None) -> NDArray[np.float64]:
        """Length of each step of this schedule, or an edited one, ms, shape (steps, variants).

        A step is done where the host has left it and the device has ended its work; it begins where the one before is done, and
        no earlier than the host comes to it.
        """
        played = ends(schedule, device_ns=device_ns)
        done = np.maximum(played.free, np.maximum.accumulate(played.ended, axis=0))[self.done]
        begins = played.free[self.begins]
        begins[1:] = np.maximum(begins[1:], done[:-1])
        return (done - begins) / NS_PER_MS


def own_times(evidence: TraceEvidence) -> OwnTimes | None:
    """The schedule of a trace; None where nothing links the device's work to the host, or no step is known."""
    if evidence.on_cpu or evidence.steps is None:
        return None
    work = _Work.of(evidence)
    if not len(work.call):
        return None
    points = _points(evidence, work)
    return _schedule(points, work, len(evidence.steps))


@dataclass(frozen=True)
class _Work:
    """Device events that a host's call launched, in the order of launching. Shape (n,)."""

    event: Ints  # itself
    call: Ints  # event that launched it
    called: Ints  # its start, ns
    returned: Ints  # its end
    start: Ints
    end: Ints
    stream: Ints
    engine: NDArray[np.int8]
    blocking: NDArray[np.bool_]

    @classmethod
    def of(cls, evidence: TraceEvidence) -> _Work:
        """From a timeline."""
        events = evidence.timeline.events
        begin, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
        at = evidence.on_device.at
        at = at[column(events, schema.EVENT_LINK)[at] >= 0]
        link = column(events, schema.EVENT_LINK)[at]
        at = at[np.lexsort((begin[at], begin[link]))]
        mine = events[at]
        link, start = column(mine, schema.EVENT_LINK), column(mine, schema.EVENT_START)
        copies = (mine[schema.EVENT_KIND.name] == Kind.COPY).to_numpy()
        to_device = copies & evidence.timeline.names.matching(TO_DEVICE)[at]
        from_device = copies & evidence.timeline.names.matching(FROM_DEVICE)[at]
        engine = np.where(to_device, Engine.H2D, np.where(from_device, Engine.D2H, Engine.STREAM)).astype(np.int8)
        end = start + column(mine, schema.EVENT_DURATION)
        blocking = (to_device | from_device) & (begin[link] + length[link] >= end)
        lanes = np.unique(column(mine, schema.EVENT_LANE), return_inverse=True)[1].reshape(-1)
        return cls(at, link, begin[link], begin[link] + length[link], start, end, lanes, engine, blocking)


@dataclass(frozen=True)
class _Points:
    """Points of the host's time in order, shape (n,)."""

    kind: Ints
    start: Ints
    end: Ints
    of: Ints  # first work of a launch, or position of an edge
    event: Ints  # of the host; -1: an edge


def _points(evidence: TraceEvidence, work: _Work) -> _Points:
    """Launches, waits and edges in the order of time."""
    steps = evidence.steps
    assert steps is not None  # asked before
    first = np.flatnonzero(np.append(True, work.call[1:] != work.call[:-1]))
    waits = evidence.on_host.of_kind(Kind.SYNC)
    begin = waits.start
    end = begin + waits.duration
    edges = np.sort(np.concatenate([steps.spans.start, steps.spans.end]))
    kind = np.concatenate([
        np.where(work.blocking[first], _BLOCKING, _LAUNCH), np.full(len(begin), _WAIT), np.full(len(edges), _EDGE)
    ])  # fmt: skip
    start = np.concatenate([work.called[first], begin, edges])
    ends_at = np.concatenate([work.returned[first], end, edges])
    of = np.concatenate([first, np.full(len(begin), -1), np.arange(len(edges))])
    event = np.concatenate([work.call[first], waits.at, np.full(len(edges), -1)])
    order = np.lexsort((kind == _EDGE, start))
    return _Points(kind[order], start[order], ends_at[order], of[order], event[order])


def _schedule(points: _Points, work: _Work, steps: int) -> OwnTimes:
    """Walk along the host's time: what was work becomes a duration, what was waiting becomes a wait."""
    counts = np.diff(np.append(np.flatnonzero(np.append(True, work.call[1:] != work.call[:-1])), len(work.call)))
    firsts = np.flatnonzero(np.append(True, work.call[1:] != work.call[:-1]))
    together = dict(zip(firsts.tolist(), counts.tolist(), strict=True))
    usual = float(np.median(np.minimum(work.returned - work.called, 10 * _ISSUING_NS)))
    deep = _depth(work)
    out = _Issues()
    place = np.full(len(work.call), -1, dtype=np.int64)
    edges: dict[int, int] = {}
    clock, late = 0, 0
    reach = np.maximum.accumulate(work.end)
    for kind, start, end, of, event in zip(
        *(values.tolist() for values in (points.kind, points.start, points.end, points.of, points.event)), strict=True
    ):
        out.at(event, clock, start)
        before = max(0, start - clock) + late
        inside, late = max(0, end - max(start, clock)), 0
        if kind == _EDGE:
            edges[of] = out.add(before, 0)
        elif kind == _WAIT:
            awaited = _awaited(work, reach, start, end)
            late = max(0, end - max(start, clock, int(work.end[awaited]))) if awaited >= 0 else inside
            out.add(before, 0, waits=int(place[awaited]) if awaited >= 0 else -1)
        else:
            inside, late = _issuing(work, of, kind == _BLOCKING, max(start, clock), end, usual if deep[of] else None)
            for at in range(of, of + together[of]):
                place[at] = out.add(
                    before if at == of else 0, inside if at == of else 0, device=int(work.end[at] - work.start[at]),
                    engine=int(work.engine[at]), stream=int(work.stream[at]), blocking=kind == _BLOCKING,
                    event=int(work.event[at]),
                )  # fmt: skip
        clock = max(clock, end)
    waited = np.full(len(out.before), -1, dtype=np.int64)
    known = np.flatnonzero(place >= 0)
    behind = _behind(work)[known]
    waited[place[known]] = np.where(behind >= 0, place[behind], -1)
    schedule = plain(
        np.array(out.before) + np.array(out.issue), out.device, engine=out.engine, stream=out.stream, waits=out.waits,
        after=np.where(waited < np.arange(len(waited)), waited, -1),
    )  # fmt: skip
    places = np.array([edges[i] for i in range(2 * steps)], dtype=np.int64)
    where = (np.array(column, dtype=np.int64) for column in (out.work, out.call, out.since, out.until))
    return OwnTimes(schedule, places[0::2], places[1::2], *where)


class _Issues:
    """Issues under way, as lists."""

    def __init__(self) -> None:
        self.before: list[int] = []
        self.issue: list[int] = []
        self.device: list[int] = []
        self.engine: list[int] = []
        self.stream: list[int] = []
        self.waits: list[int] = []
        self.work: list[int] = []
        self.call: list[int] = []
        self.since: list[int] = []
        self.until: list[int] = []
        self._place = (-1, 0, 0)

    def at(self, call: int, since: int, until: int) -> None:
        """Where in the trace the next issue lies: its event, and the host's time before it."""
        self._place = (call, since, max(since, until))

    def add(
        self, before: int, issue: int, *, device: int = 0, engine: int = Engine.NONE, stream: int = 0, waits: int = -1,
        blocking: bool = False, event: int = -1,
    ) -> int:  # fmt: skip
        """Append one; returns its position."""
        at = len(self.before)
        call, since, until = self._place
        self._place = (-1, until, until)
        for column_, value in zip(
            (
                self.before,
                self.issue,
                self.device,
                self.engine,
                self.stream,
                self.waits,
                self.work,
                self.call,
                self.since,
                self.until,
            ),
            (before, issue, device, engine, stream, at if blocking else waits, event, call, since, until),
            strict=True,
        ):
            column_.append(value)
        return at


def _issuing(work: _Work, at: int, blocking: bool, start: int, end: int, clipped: float | None) -> tuple[int, int]:
    """Host time of a call before its work may begin, and after its work is done."""
    if blocking:
        begins = max(0, int(work.start[at]) - start)
        waited = at > 0 and int(work.end[:at].max(initial=0)) > start
        return (min(begins, _ISSUING_NS) if waited else begins), max(0, end - max(start, int(work.end[at])))
    inside = max(0, end - start)
    return (min(inside, int(clipped)) if clipped is not None else inside), 0


def _awaited(work: _Work, reach: Ints, start: int, end: int) -> int:
    """The work whose end a wait ended at: of what was launched before it, that which ended last before it returned; -1: none."""
    launched = int(np.searchsorted(work.called, start, side="left"))
    if not launched:
        return -1
    low = int(np.searchsorted(reach[:launched], start, side="right"))  # all before ended before the wait began
    recent = np.arange(min(low, launched - 1), launched)
    fitting = recent[work.end[recent] <= end + 1000]
    return int(fitting[np.argmax(work.end[fitting])]) if len(fitting) else -1


def _behind(work: _Work) -> Ints:
    """For each work the one of another stream that it seems to have waited for; -1: none."""
    behind = np.full(len(work.call), -1, dtype=np.int64)
    if len(np.unique(work.stream)) < 2:
        return behind
    by_start = np.argsort(work.start, kind="stable")
    before = np.full(len(work.call), np.iinfo(np.int64).min, dtype=np.int64)
    for stream in np.unique(work.stream):
        mine = by_start[work.stream[by_start] == stream]
        before[mine[1:]] = work.end[mine[:-1]]
    ready = np.maximum(before, work.returned)
    by_end = np.argsort(work.end, kind="stable")
    ended = work.end[by_end]
    for at in np.flatnonzero(work.start > ready + 2 * _PASSING_NS // 10).tolist():
        last = int(np.searchsorted(ended, work.start[at], side="right")) - 1
        while last >= 0 and ended[last] >= max(work.start[at] - _PASSING_NS, ready[at]):
            other = int(by_end[last])
            if work.stream[other] != work.stream[at] and other < at:
                behind[at] = other
                break
            last -= 1
    return behind


def _depth(work: _Work) -> NDArray[np.bool_]:
    """Whether the launch queue was nearly full when each was launched."""
    ended = np.sort(work.end)
    launched = np.arange(len(work.call))
    waiting = launched - np.searchsorted(ended, work.called, side="right")
    full: NDArray[np.bool_] = waiting > _NEARLY_FULL * QUEUE_LIMIT
    return full
