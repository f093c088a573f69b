"""Timeline: what happened when. Events on lanes, whole nanoseconds, blind to whether it was measured, simulated or imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.timeline import schema
from breakeven.timeline.coded import Coded, coded, in_use, texts_of
from breakeven.timeline.nesting import by_time, crossing
from breakeven.timeline.opstream import Site


@dataclass(frozen=True)
class Lane:
    """Where events lie one after another (or nested): a host thread, a loader worker, a device's stream or copy engine."""

    kind: str  # host | loader | stream | copy
    device: str  # "cpu" for host lanes, else the device's name in this timeline, such as "cuda:0"
    name: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a timeline comes from."""

    how: str  # measured | simulated | imported
    machine: Mapping[str, Any] = field(default_factory=dict)  # fingerprint: JSON values
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timeline:
    """Frozen table of events (columns `schema.EVENTS`), sorted by start, then by lane, longer first."""

    events: pl.DataFrame
    lanes: tuple[Lane, ...]
    origin: Origin
    sites: tuple[Site, ...] = ()

    def __len__(self) -> int:
        return self.events.height

    @cached_property
    def names(self) -> Coded:
        """Names of the events."""
        return coded(self.events[schema.EVENT_NAME.name])

    @cached_property
    def kinds(self) -> Coded:
        """Kinds of the events."""
        return coded(self.events[schema.EVENT_KIND.name])

    @cached_property
    def causes(self) -> Coded:
        """Causes that events state; most state none."""
        return coded(self.events[schema.EVENT_CAUSE.name])

    def on_lanes(self, *kinds: str) -> NDArray[np.bool_]:
        """Whether each event lies on a lane of one of these kinds."""
        table = np.array([lane.kind in kinds for lane in self.lanes] or [False], dtype=np.bool_)
        found: NDArray[np.bool_] = table[column(self.events, schema.EVENT_LANE)]
        return found

    def with_cause(self, which: NDArray[np.bool_], cause: str) -> Timeline:
        """The same, in which some of the events state another cause."""
        stated = pl.Series(schema.EVENT_CAUSE.name, [cause, *self.causes.values, None], dtype=pl.String)
        causes = stated[np.where(which, 0, np.where(self.causes.codes < 0, len(stated) - 1, self.causes.codes + 1))]
        made = Timeline(self.events.with_columns(causes), self.lanes, self.origin, self.sites)
        for same in ("names", "kinds"):  # what has been worked out need not be once more
            if same in self.__dict__:
                made.__dict__[same] = self.__dict__[same]
        return made

    @classmethod
    def from_columns(
        cls,
        columns: Mapping[str, Any],
        *,
        lanes: Sequence[Lane],
        origin: Origin,
        sites: Sequence[Site] = (),
        nested: bool = False,
    ) -> Timeline:  # any sequence that polars takes as a column
        """A Timeline from whole columns, which may be in any order; a column that is left out takes its default.

        Columns of texts may be given as numbers (`Coded`): they are then not looked at text by text.

        Args:
            columns: by name (those of `schema.EVENTS`); links are positions among the events as given here.
            lanes: what the lane column points to.
            origin: where it comes from.
            sites: what the site column points to.
            nested: the caller has just made sure that the events of each lane nest.

        Raises:
            ValueError: an invariant does not hold; the message names the event and the pass in `repairs` that mends it.
        """
        frame = _frame(columns)
        _check(frame, len(lanes), nested, columns)
        ordered = _sorted(frame)
        known = {
            name: in_use(Coded(ordered[name].to_numpy(), given.values))
            for name, given in columns.items()
            if isinstance(given, Coded)
        }
        events = ordered.with_columns(texts_of(given).alias(name) for name, given in known.items()) if known else ordered
        made = cls(events, tuple(lanes), origin, tuple(sites))
        for name, given in known.items():
            if name in _WORKED_OUT:  # what is known need not be worked out from the texts
                made.__dict__[_WORKED_OUT[name]] = given
        return made


#: Properties that are columns of texts as numbers.
_WORKED_OUT: Mapping[str, str] = {
    schema.EVENT_NAME.name: "names", schema.EVENT_KIND.name: "kinds", schema.EVENT_CAUSE.name: "causes",
}  # fmt: skip
_DEFAULTS: Mapping[str, Any] = {  # what a column that is left out holds; the others are null
    schema.EVENT_NAME.name: "", schema.EVENT_KIND.name: schema.Kind.HOST, schema.EVENT_LANE.name: 0,
    schema.EVENT_DURATION.name: 0, schema.EVENT_LINK.name: -1, schema.EVENT_STEP.name: -1, schema.EVENT_SITE.name: -1,
}  # fmt: skip


@dataclass
class TimelineBuilder:
    """Collects events one by one; `build` checks the invariants, sorts, and freezes.

    >>> builder = TimelineBuilder()
    >>> host = builder.lane(Lane("host", "cpu", "main"))
    >>> _ = builder.add("step", kind="step", lane=host, start_ns=0, duration_ns=10, step=0)
    >>> len(builder.build(Origin("measured")))
    1
    """

    lanes: list[Lane] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=lambda: {c.name: [] for c in schema.EVENTS})

    def lane(self, lane: Lane) -> int:
        """Position of this lane, added where it is new."""
        if lane not in self.lanes:
            self.lanes.append(lane)
        return self.lanes.index(lane)

    def site(self, site: Site) -> int:
        """Position of this source line, added where it is new."""
        if site not in self.sites:
            self.sites.append(site)
        return self.sites.index(site)

    def add(
        self, name: str, *, kind: str, lane: int, start_ns: int, duration_ns: int, link: int = -1, step: int = -1,
        phase: str | None = None, site: int = -1, limited_by: str | None = None, bytes_: int | None = None,
        cause: str | None = None,
    ) -> int:  # fmt: skip
        """Append one event; returns its number, which `link` of others may name (before the events are sorted)."""
        values = (name, kind, lane, start_ns, duration_ns, link, step, phase, site, limited_by, bytes_, cause)
        for column, value in zip(schema.EVENTS, values, strict=True):
            self._columns[column.name].append(value)
        return len(self._columns[schema.EVENT_NAME.name]) - 1

    def build(self, origin: Origin) -> Timeline:
        """The frozen timeline of everything added so far.

        Raises:
            ValueError: an invariant does not hold (`Timeline.from_columns`).
        """
        return Timeline.from_columns(self._columns, lanes=self.lanes, origin=origin, sites=self.sites)


def column(frame: pl.DataFrame, which: schema.Column) -> NDArray[np.int64]:
    """A column of whole numbers as 64-bit numpy, nulls (there are none in checked columns) as -1."""
    series = frame[which.name]
    if series.null_count():
        series = series.fill_null(-1)
    values: NDArray[np.int64] = series.to_numpy().astype(np.int64, copy=False)
    return values


def _frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """All columns of the schema with their types, defaults filled in."""
    known = {c.name for c in schema.EVENTS}
    strange = sorted(set(columns) - known)
    if strange:
        raise ValueError(f"no such column of events: {', '.join(strange)}; there are {', '.join(sorted(known))}")
    given = {c.name: _series(c, columns[c.name]) for c in schema.EVENTS if c.name in columns}
    height = max((len(s) for s in given.values()), default=0)
    filled = [
        given[c.name] if c.name in given else pl.Series(c.name, [_DEFAULTS.get(c.name)], dtype=c.dtype).new_from_index(0, height)
        for c in schema.EVENTS
    ]
    frame = pl.DataFrame(filled)
    gaps = {name: value for name, value in _DEFAULTS.items() if frame[name].null_count()}
    return frame.with_columns(pl.col(name).fill_null(value) for name, value in gaps.items()) if gaps else frame


def _series(column: schema.Column, values: Any) -> pl.Series:  # any sequence that polars takes as a column
    if isinstance(values, Coded):
        return pl.Series(column.name, values.codes, dtype=pl.Int32)
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        broken = ~(np.isfinite(values) & (values == np.floor(values)))
        if broken.any():
            raise ValueError(f"{column.name} must be whole, not {values[np.argmax(broken)]}: repairs.whole_times rounds them")
    if isinstance(values, np.ndarray) and values.dtype.kind in "US":
        values = values.tolist()
    return pl.Series(column.name, values).cast(column.dtype)


def _check(frame: pl.DataFrame, lanes: int, nested: bool, given: Mapping[str, Any]) -> None:  # columns, as they were given
    """Raise where an invariant does not hold."""
    lane, start = column(frame, schema.EVENT_LANE), column(frame, schema.EVENT_START)
    duration, link = column(frame, schema.EVENT_DURATION), column(frame, schema.EVENT_LINK)
    if frame[schema.EVENT_START.name].null_count():
        raise ValueError("an event has no start; repairs.whole_times drops such events")
    for bad, what in (
        (start < 0, "starts before 0; repairs.shift_origin moves the origin"),
        (duration < 0, "has a negative length; repairs.whole_times drops such events"),
        ((lane < 0) | (lane >= lanes), f"is on no lane ({lanes} lanes are known)"),
        ((link >= len(start)) | (link < -1), "links to no event"),
    ):
        if bad.any():
            first = int(np.argmax(bad))
            raise ValueError(f"event {first} ({_name(frame, given, first)!r}) {what}")
    crossed = link[:0] if nested else crossing(lane, start, duration)
    if len(crossed):
        name = _name(frame, given, int(crossed[0]))
        raise ValueError(f"event {crossed[0]} ({name!r}) neither nests nor is disjoint in its lane; repairs.nest mends that")
    back = backward_links(frame, waiting(frame, given))
    if len(back):
        raise ValueError(f"the link of event {back[0]} goes back in time; repairs.forward_links drops such links")


def _name(frame: pl.DataFrame, given: Mapping[str, Any], at: int) -> str:  # columns, as they were given
    """Name of one event."""
    known, held = given.get(schema.EVENT_NAME.name), frame[schema.EVENT_NAME.name][at]
    return known.values[held] if isinstance(known, Coded) else str(held)


def waiting(frame: pl.DataFrame, given: Mapping[str, Any]) -> NDArray[np.bool_]:  # columns, as they were given
    """Whether each event is a wait of the host."""
    known, held = given.get(schema.EVENT_KIND.name), frame[schema.EVENT_KIND.name]
    if isinstance(known, Coded):
        return Coded(held.to_numpy(), known.values).among(schema.Kind.SYNC)
    waits: NDArray[np.bool_] = (held == schema.Kind.SYNC).to_numpy()
    return waits


def backward_links(frame: pl.DataFrame, waits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Positions of events whose link goes back in time.

    A cause starts no later than its effect; what a wait (`waits`, of each event) waited for ends no later than the wait.
    """
    start, duration = column(frame, schema.EVENT_START), column(frame, schema.EVENT_DURATION)
    link = column(frame, schema.EVENT_LINK)
    linked = np.flatnonzero(link >= 0)
    to = link[linked]
    late = np.where(waits[linked], (start + duration)[to] > (start + duration)[linked], start[to] > start[linked])
    return linked[late]


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    """Sorted by start, lane, longer first; links follow their events."""
    lane, start = column(frame, schema.EVENT_LANE), column(frame, schema.EVENT_START)
    order = by_time(lane, start, column(frame, schema.EVENT_DURATION))
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    if (place[1:] > place[:-1]).all():
        return frame
    link = column(frame, schema.EVENT_LINK)
    moved = np.where(link >= 0, place[np.maximum(link, 0)], -1)[order] if len(link) else link
    return frame[order].with_columns(pl.Series(schema.EVENT_LINK.name, moved, dtype=schema.EVENT_LINK.dtype))
