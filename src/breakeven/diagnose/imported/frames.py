"""Lines of the user's program, from the stack frames that a trace holds: which frame was innermost when an event began.

What it does not know: the line within the function; profilers record where it is defined.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
import polars as pl

from breakeven.results.records import Interval, Site
from breakeven.timeline import Timeline, schema
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

_FRAME: Final = re.compile(r"^(?P<file>[^()<>]+\.py)\((?P<line>\d+)\): (?P<function>.+)$")

#: Files that are not the user's: installed libraries, PyTorch's own paths as its profiler shortens them, and Python's.
_FOREIGN: Final = re.compile(
    r"site-packages|dist-packages|/lib/python3|^torch/|^torchvision/|^transformers/|^<|^(?:threading|runpy|contextlib|functools|"
    r"typing|abc|queue|selectors|socket|multiprocessing|concurrent|asyncio|importlib|inspect|enum|random|copy|json|logging)\b"
)
_MOST: Final = 3


def lines_of(timeline: Timeline, events: pl.DataFrame) -> tuple[Site, ...]:
    """Functions of the user in which these host events lie, dearest first; empty where the trace holds no stacks."""
    frames = _frames(timeline)
    if not frames.height or not events.height:
        return ()
    top = events.sort(schema.EVENT_DURATION.name, descending=True).head(200)
    begin = column(frames, schema.EVENT_START)
    end = begin + column(frames, schema.EVENT_DURATION)
    threads = np.array([lane.name for lane in timeline.lanes], dtype=object)
    of_frame = threads[column(frames, schema.EVENT_LANE)]
    spent: dict[str, int] = {}
    for at, lane, length in zip(
        column(top, schema.EVENT_START), column(top, schema.EVENT_LANE), column(top, schema.EVENT_DURATION), strict=True
    ):
        inside = np.flatnonzero((begin <= at) & (end > at) & (of_frame == threads[lane]))
        if len(inside):
            name = frames[schema.EVENT_NAME.name][int(inside[np.argmax(begin[inside])])]
            spent[name] = spent.get(name, 0) + int(length)
    dearest = sorted(spent, key=lambda name: -spent[name])[:_MOST]
    return tuple(site for site in (_site(name, spent[name]) for name in dearest) if site is not None)


def _frames(timeline: Timeline) -> pl.DataFrame:
    """Frames of the user's files."""
    python = [i for i, lane in enumerate(timeline.lanes) if lane.kind == "python"]
    mine = timeline.events.filter(pl.col(schema.EVENT_LANE.name).is_in(python))
    names = mine[schema.EVENT_NAME.name].unique().to_list()
    own = [name for name in names if (m := _FRAME.match(name)) and not _FOREIGN.search(m["file"])]
    return mine.filter(pl.col(schema.EVENT_NAME.name).is_in(own))


def _site(name: str, spent_ns: int) -> Site | None:
    found = _FRAME.match(name)
    if not found:
        return None
    waited = spent_ns / NS_PER_MS
    return Site(found["file"], int(found["line"]), f"{found['function']}()", Interval(0.0, waited, waited))
