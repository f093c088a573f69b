"""Named passes that mend imported events until the invariants hold, and report what they changed; nothing is mended silently.

Order: `whole_times`, `known_links`, `nest`, `align_clocks`, `forward_links`, `shift_origin`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import polars as pl

from breakeven.timeline import schema
from breakeven.timeline.coded import Coded
from breakeven.timeline.intervals import Ints
from breakeven.timeline.nesting import crossing, order
from breakeven.timeline.opstream import Site
from breakeven.timeline.timeline import Lane, Origin, Timeline, backward_links, column, waiting

#: An event that outlives the one it lies in by no more than this is cut to it: profilers that write microseconds round
#: both ends, so that a child may seem to end up to 1 µs after its parent.
ROUNDING_NS: Final = 1_000
#: Clocks of host and device that disagree by more than this are not moved: that is no drift but another fault.
MOST_SKEW_NS: Final = 1_000_000


@dataclass(frozen=True)
class Repair:
    """What one pass changed."""

    name: str
    events: int
    what: str

    def sentence(self) -> str:
        """One line for a report's warnings."""
        return f"{self.events} event{'s' if self.events != 1 else ''} {self.what} ({self.name})"


@dataclass(frozen=True)
class _Draft:
    """Events that need not be in order yet; links are positions."""

    events: pl.DataFrame
    lanes: tuple[Lane, ...]
    texts: Mapping[str, Coded] = field(default_factory=dict)  # columns that the frame holds as numbers, as they were given


_Pass = Callable[[_Draft], tuple[_Draft, tuple[Repair, ...]]]


def repaired(
    columns: Mapping[str, Any], *, lanes: Sequence[Lane], origin: Origin, sites: Sequence[Site] = ()
) -> tuple[Timeline, tuple[Repair, ...]]:  # any sequences that polars takes as columns
    """A Timeline from columns that may break the invariants, and what had to be changed for it.

    Args:
        columns: as `Timeline.from_columns`; times may be fractions, missing or negative.
        lanes: what the lane column points to; passes may add to them.
        origin: where it comes from.
        sites: what the site column points to.
    """
    texts = {name: given for name, given in columns.items() if isinstance(given, Coded)}
    draft = _Draft(_loose(columns), tuple(lanes), texts)
    report: list[Repair] = []
    for mend in _PASSES:
        draft, changed = mend(draft)
        report += changed
    mended = draft.events.to_dict()
    as_given = {name: Coded(mended[name].to_numpy(), given.values) for name, given in texts.items()}
    made = Timeline.from_columns({**mended, **as_given}, lanes=draft.lanes, origin=origin, sites=sites, nested=True)
    return made, tuple(report)


def _loose(columns: Mapping[str, Any]) -> pl.DataFrame:
    """The given columns as a frame, times as they are."""
    given = {
        name: pl.Series(name, values.codes if isinstance(values, Coded) else values, strict=False)
        for name, values in columns.items()
    }
    frame = pl.DataFrame(list(given.values()))
    if schema.EVENT_LANE.name not in frame.columns:
        frame = frame.with_columns(pl.lit(0).alias(schema.EVENT_LANE.name))
    if schema.EVENT_DURATION.name not in frame.columns:
        frame = frame.with_columns(pl.lit(0).alias(schema.EVENT_DURATION.name))
    if schema.EVENT_LINK.name not in frame.columns:
        frame = frame.with_columns(pl.lit(-1).alias(schema.EVENT_LINK.name))
    if schema.EVENT_KIND.name not in frame.columns:
        frame = frame.with_columns(pl.lit(schema.Kind.HOST).alias(schema.EVENT_KIND.name))
    return frame


def whole_times(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Round fractions of a nanosecond; drop events without a start, without an end, or that end before they start."""
    start, duration = pl.col(schema.EVENT_START.name), pl.col(schema.EVENT_DURATION.name)
    frame = draft.events
    exact = frame.schema[schema.EVENT_START.name].is_integer() and frame.schema[schema.EVENT_DURATION.name].is_integer()
    if not exact:
        begins = start.cast(pl.Float64, strict=False)
        ends = begins + duration.cast(pl.Float64, strict=False)
        usable = ends.is_finite() & (begins.abs() < 2**62) & (ends.abs() < 2**62)
        frame = frame.with_columns(
            pl.when(usable).then(begins.round()).cast(pl.Int64).alias(schema.EVENT_START.name),
            pl.when(usable).then(ends.round() - begins.round()).cast(pl.Int64).alias(schema.EVENT_DURATION.name),
        )
    keep = frame.select(start.is_not_null() & duration.is_not_null() & (duration >= 0)).to_series().fill_null(False)
    dropped = int((~keep).sum())
    changed = (Repair("whole_times", dropped, "without a usable start and length dropped"),) if dropped else ()
    return _keep(replace(draft, events=frame), keep.to_numpy()), changed


def _keep(draft: _Draft, keep: Any) -> _Draft:  # a numpy mask
    """Only some of the events; links to the others are cut."""
    if keep.all():
        return draft
    place = np.where(keep, np.cumsum(keep) - 1, -1)
    link = column(draft.events, schema.EVENT_LINK)[keep]
    inside = (link >= 0) & (link < len(place))
    moved = np.where(inside, place[np.clip(link, 0, len(place) - 1)], -1)
    kept = draft.events.filter(pl.Series(keep)).with_columns(pl.Series(schema.EVENT_LINK.name, moved))
    return replace(draft, events=kept)


def shift_origin(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Count time from the first event: no start is negative, and the numbers stay small. Changes no distance."""
    start = pl.col(schema.EVENT_START.name)
    return replace(draft, events=draft.events.with_columns(start - start.min())), ()


def known_links(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Cut links to events that are not there, and of events to themselves."""
    link = column(draft.events, schema.EVENT_LINK)
    lost = (link < -1) | (link >= len(link)) | (link == np.arange(len(link)))
    return _relink(draft, np.flatnonzero(lost), "linked to what is not there", "known_links")


def _relink(draft: _Draft, which: Ints, what: str, name: str) -> tuple[_Draft, tuple[Repair, ...]]:
    if not len(which):
        return draft, ()
    link = column(draft.events, schema.EVENT_LINK).copy()
    link[which] = -1
    events = draft.events.with_columns(pl.Series(schema.EVENT_LINK.name, link))
    return replace(draft, events=events), (Repair(name, len(which), f"{what}: link cut"),)


def nest(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Where events of a lane cross: cut what outlives its parent by a rounding, move the others to a lane beside it."""
    events, lanes = draft.events, list(draft.lanes)
    lane, start = column(events, schema.EVENT_LANE).copy(), column(events, schema.EVENT_START)
    duration = column(events, schema.EVENT_DURATION).copy()
    cut = moved = 0
    while len(crossed := crossing(lane, start, duration)):
        for at in np.unique(lane[crossed]).tolist():
            mine = np.flatnonzero(lane == at)
            mine = mine[order(lane[mine], start[mine], duration[mine])]
            trimmed, beside = _settle(start, duration, mine)
            cut, moved = cut + trimmed, moved + len(beside)
            if beside:
                lane[beside] = len(lanes)
                lanes.append(Lane(lanes[at].kind, lanes[at].device, f"{lanes[at].name} (overlapping)"))
    changed = [
        Repair("nest", count, what)
        for count, what in ((cut, "cut to the end of the event they lie in"), (moved, "that cross others moved to a lane beside"))
        if count
    ]
    new = events.with_columns(pl.Series(schema.EVENT_LANE.name, lane), pl.Series(schema.EVENT_DURATION.name, duration))
    return replace(draft, events=new, lanes=tuple(lanes)), tuple(changed)


def _settle(start: Ints, duration: Ints, mine: Ints) -> tuple[int, list[int]]:
    """Walk one lane's events in order with the stack of open ends; shortens `duration` in place, returns what must move."""
    trimmed = 0
    beside: list[int] = []
    open_ends: list[int] = []
    for event, begin, length in zip(mine.tolist(), start[mine].tolist(), duration[mine].tolist(), strict=True):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        end = begin + length
        if open_ends and end > open_ends[-1]:
            if end - open_ends[-1] > ROUNDING_NS:
                beside.append(event)
                continue
            end, trimmed = open_ends[-1], trimmed + 1
            duration[event] = end - begin
        open_ends.append(end)
    return trimmed, beside


def align_clocks(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Move all lanes of a device later where its work seems to start before it was launched.

    By as much as all but one in a thousand of its events need; `forward_links` cuts the rest.
    """
    start, link = column(draft.events, schema.EVENT_START).copy(), column(draft.events, schema.EVENT_LINK)
    lane = column(draft.events, schema.EVENT_LANE)
    changed = []
    for device in sorted({x.device for x in draft.lanes if x.kind in ("stream", "copy")}):
        on = np.isin(lane, [i for i, x in enumerate(draft.lanes) if x.device == device and x.kind in ("stream", "copy")])
        linked = np.flatnonzero(on & (link >= 0))
        if not len(linked):
            continue
        early = int(-np.quantile(start[linked] - start[link[linked]], 0.001, method="lower"))
        if 0 < early <= MOST_SKEW_NS:
            start[on] += early
            changed.append(Repair("align_clocks", int(on.sum()), f"of {device} moved {early} ns later, after their launches"))
    if not changed:
        return draft, ()
    return replace(draft, events=draft.events.with_columns(pl.Series(schema.EVENT_START.name, start))), tuple(changed)


def forward_links(draft: _Draft) -> tuple[_Draft, tuple[Repair, ...]]:
    """Cut links that go back in time."""
    back = backward_links(draft.events, waiting(draft.events, draft.texts))
    return _relink(draft, back, "started before what caused them", "forward_links")


_PASSES: Final[tuple[_Pass, ...]] = (whole_times, known_links, nest, align_clocks, forward_links, shift_origin)
