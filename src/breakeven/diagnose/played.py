"""One step of a timeline as a picture needs it: its events as columns, the host's lane first, causes by the account's names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.diagnose.host_state import CAUSES
from breakeven.diagnose.kernel_limits import device_causes
from breakeven.results.pictured import Bars, PlayedStep
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.nesting import nesting
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

#: Events that a picture holds at most: about 30 bytes each, and a page may have 3 MB.
MOST: Final = 20_000

#: Lanes in the order in which they are drawn.
_LANES: Final = {"host": 0, "loader": 1, "stream": 2, "copy": 3}
#: Deeper events are drawn at this depth.
_DEEPEST: Final = 7
_OVERHEAD: Final = "overhead"
_SHOWN_CAUSES: Final = (*CAUSES, _OVERHEAD)
#: What a host's event of a kind means to a device that waits for it, where its source does not say.
_OF_HOST: Final = {
    Kind.LAUNCH: "launch", Kind.SYNC: "sync", Kind.COPY: "copy", Kind.ALLOC: "memory", Kind.COMMUNICATION: "communication",
    Kind.COMPUTE: "compute",
}  # fmt: skip


def played_step(
    timeline: Timeline, device: str, source: str, *, window: tuple[int, int] | None = None, lanes: Collection[int] | None = None,
    most: int = MOST,
) -> PlayedStep | None:  # fmt: skip
    """One step, with all that overlaps it; None where there are no events.

    Args:
        timeline: simulated or imported.
        device: what to call it.
        source: predicted or measured.
        window: begin and end, ns; None: the marked step of median length, or where no step is marked the whole.
        lanes: to show; None: all.
        most: events to keep, the longest ones.
    """
    events = timeline.events.filter(pl.col(schema.EVENT_KIND.name) != Kind.STEP)
    if not events.height:
        return None
    begin, end = window or _window(timeline.events, events)
    inside = _inside(events, begin, end, lanes)
    events, left_out = _longest(events[inside], most)
    used = np.unique(column(events, schema.EVENT_LANE))
    drawn = sorted(used.tolist(), key=lambda i: (_LANES.get(timeline.lanes[i].kind, 9), i))
    names, name = _numbered(events[schema.EVENT_NAME.name])
    places, line = _places(timeline, events)
    start, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    row = np.zeros(len(timeline.lanes), dtype=np.int64)
    row[drawn] = np.arange(len(drawn))
    lane = row[column(events, schema.EVENT_LANE)]
    bars = Bars(
        _ints(lane), _ints(np.minimum(nesting(lane, start, length).depth, _DEEPEST)), _ints(start - begin), _ints(length),
        _ints(name), _ints(_causes(timeline, events)), _ints(line),
    )  # fmt: skip
    titles = tuple(_title(timeline, i) for i in drawn)
    return PlayedStep(device, source, titles, names, _SHOWN_CAUSES, places, bars, end - begin, left_out)


def _window(all_events: pl.DataFrame, events: pl.DataFrame) -> tuple[int, int]:
    """Begin and end of the marked step of median length, or of everything."""
    marks = all_events.filter((pl.col(schema.EVENT_KIND.name) == Kind.STEP) & (pl.col(schema.EVENT_DURATION.name) > 0))
    start, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    if not marks.height:
        return int(start.min()), max(int((start + length).max()), int(start.min()) + 1)
    lengths = column(marks, schema.EVENT_DURATION)
    middle = int(np.argsort(lengths, kind="stable")[(len(lengths) - 1) // 2])
    begin = int(column(marks, schema.EVENT_START)[middle])
    return begin, begin + int(lengths[middle])


def _inside(events: pl.DataFrame, begin: int, end: int, lanes: Collection[int] | None) -> Ints:
    start, length = column(events, schema.EVENT_START), column(events, schema.EVENT_DURATION)
    inside = (start < end) & (start + length > begin)
    if lanes is not None:
        inside &= np.isin(column(events, schema.EVENT_LANE), list(lanes))
    return np.flatnonzero(inside)


def _longest(events: pl.DataFrame, most: int) -> tuple[pl.DataFrame, int]:
    """The longest events in their order, and how many that leaves out."""
    if events.height <= most:
        return events, 0
    kept = np.sort(np.argsort(-column(events, schema.EVENT_DURATION), kind="stable")[:most])
    return events[kept], events.height - most


def _numbered(values: pl.Series) -> tuple[tuple[str, ...], Ints]:
    """Each text once, in the order of the alphabet, and each event's position among them."""
    texts = sorted(set(values.to_list()))
    place = {text: i for i, text in enumerate(texts)}
    return tuple(texts), np.array([place[text] for text in values.to_list()], dtype=np.int64)


def _places(timeline: Timeline, events: pl.DataFrame) -> tuple[tuple[str, ...], Ints]:
    site = column(events, schema.EVENT_SITE)
    known = np.unique(site[(site >= 0) & (site < len(timeline.sites))])
    row = np.full(len(timeline.sites) + 1, -1, dtype=np.int64)
    row[known] = np.arange(len(known))
    texts = tuple(f"{timeline.sites[i].file}:{timeline.sites[i].line}" for i in known.tolist())
    return texts, row[np.where((site >= 0) & (site < len(timeline.sites)), site, len(timeline.sites))]


def _causes(timeline: Timeline, events: pl.DataFrame) -> NDArray[np.int64]:
    """Each event's cause as a position in `_SHOWN_CAUSES`: of device work its limit, of the host what waiting on it means."""
    on_device = np.isin(
        column(events, schema.EVENT_LANE), [i for i, lane in enumerate(timeline.lanes) if lane.kind in ("stream", "copy")]
    )
    of_device = device_causes(events).to_list()
    told, kinds = events[schema.EVENT_CAUSE.name].to_list(), events[schema.EVENT_KIND.name].to_list()
    place = {cause: i for i, cause in enumerate(_SHOWN_CAUSES)}
    found = [
        of_device[i] if on_device[i] else told[i] or _OF_HOST.get(kinds[i], _OVERHEAD) for i in range(events.height)
    ]  # fmt: skip
    return np.array([place.get(cause, -1) for cause in found], dtype=np.int64)


def _title(timeline: Timeline, lane: int) -> str:
    known = timeline.lanes[lane]
    if known.kind == "host":
        return f"Host {known.name}".strip()
    return f"{'Loader' if known.kind == 'loader' else 'Copies' if known.kind == 'copy' else 'GPU'} {known.name}".strip()


def _ints(values: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(values.tolist())
