"""Questions to a timeline that more than one room asks: what was busy, for how long, where it paused, what lay inside what."""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from breakeven.timeline import schema
from breakeven.timeline.intervals import Intervals, Ints, gaps, intersection, union
from breakeven.timeline.nesting import Nesting, nesting
from breakeven.timeline.timeline import Timeline, column

_DEVICE_LANES: Final = ("stream", "copy")


def devices(timeline: Timeline) -> tuple[str, ...]:
    """Devices with at least one event, the one with most kernels first, then the one with most events."""
    lane = column(timeline.events, schema.EVENT_LANE)
    copies = timeline.kinds.among(schema.Kind.COPY)
    every = np.bincount(lane, minlength=len(timeline.lanes))
    copying = np.bincount(lane[copies], minlength=len(timeline.lanes))
    count: dict[str, tuple[int, int]] = {}
    for at, known in enumerate(timeline.lanes):
        if known.kind in _DEVICE_LANES and every[at]:
            kernels, events = count.get(known.device, (0, 0))
            count[known.device] = (kernels + int(every[at] - copying[at]), events + int(every[at]))
    return tuple(sorted(count, key=lambda device: (*(-n for n in count[device]), device)))


def on_device(timeline: Timeline, device: str) -> Ints:
    """Positions of the events that ran on a device (marks of steps left out)."""
    lanes = np.array([x.device == device and x.kind in _DEVICE_LANES for x in timeline.lanes] or [False], dtype=np.bool_)
    marks = timeline.kinds.among(schema.Kind.STEP)
    return np.flatnonzero(lanes[column(timeline.events, schema.EVENT_LANE)] & ~marks)


def spans(timeline: Timeline, which: Ints) -> Intervals:
    """The union of the times of some events."""
    start = column(timeline.events, schema.EVENT_START)[which]
    return union(start, start + column(timeline.events, schema.EVENT_DURATION)[which])


def busy(timeline: Timeline, device: str) -> Intervals:
    """When a device ran anything: kernels, copies, memsets, over all its streams."""
    return spans(timeline, on_device(timeline, device))


def idle(timeline: Timeline, device: str) -> Intervals:
    """When a device ran nothing, between its first event and its last."""
    runs = busy(timeline, device)
    return gaps(runs, int(runs.start[0]), int(runs.end[-1])) if len(runs) else runs


def overlap(timeline: Timeline, device: str) -> Intervals:
    """When a device copied and computed at once: the part of its copies that costs nothing."""
    mine = on_device(timeline, device)
    copies = (timeline.events[schema.EVENT_KIND.name] == schema.Kind.COPY).to_numpy()[mine]
    return intersection(spans(timeline, mine[copies]), spans(timeline, mine[~copies]))


def nested(timeline: Timeline) -> Nesting:
    """Depth and parent of every event within its lane."""
    return nesting(*(column(timeline.events, c) for c in (schema.EVENT_LANE, schema.EVENT_START, schema.EVENT_DURATION)))


def self_ns(timeline: Timeline) -> Ints:
    """Each event's own time: its length less that of the events directly inside it, ns, shape (n,)."""
    duration = column(timeline.events, schema.EVENT_DURATION)
    parent = nested(timeline).parent
    inside = np.bincount(parent[parent >= 0], weights=duration[parent >= 0], minlength=len(duration))
    own: Ints = duration - inside.astype(np.int64)
    return own


def steps(timeline: Timeline) -> pl.DataFrame:
    """Marks of the steps in order of time (columns of events)."""
    return timeline.events.filter(pl.col(schema.EVENT_KIND.name) == schema.Kind.STEP)
