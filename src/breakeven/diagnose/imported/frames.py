"""Lines of the user's program, from the stack frames that a trace holds: which frame was innermost when an event began.

What it does not know: the line within the function; profilers record where it is defined.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from breakeven.diagnose.imported.seen import Seen
from breakeven.results.records import Interval, Site
from breakeven.timeline import Timeline
from breakeven.timeline.intervals import Ints
from breakeven.units import NS_PER_MS

_FRAME: Final = re.compile(r"^(?P<file>[^()<>]+\.py)\((?P<line>\d+)\): (?P<function>.+)$")

#: Files that are not the user's: installed libraries, PyTorch's own paths as its profiler shortens them, and Python's.
_FOREIGN: Final = re.compile(
    r"site-packages|dist-packages|/lib/python3|^torch/|^torchvision/|^transformers/|^<|^(?:threading|runpy|contextlib|functools|"
    r"typing|abc|queue|selectors|socket|multiprocessing|concurrent|asyncio|importlib|inspect|enum|random|copy|json|logging)\b"
)
_MOST: Final = 3
#: Events that are looked at, the longest first.
_LOOKED_AT: Final = 200


def lines_of(events: Seen) -> tuple[Site, ...]:
    """Functions of the user in which these host events lie, dearest first; empty where the trace holds no stacks."""
    return tuple(site for site, _ in by_line(events))


def by_line(events: Seen) -> list[tuple[Site, Ints]]:
    """The same, each with the positions of the events that lie in it."""
    timeline = events.timeline
    frames = _frames(timeline)
    if not len(frames) or not len(events):
        return []
    top = np.argsort(-events.duration, kind="stable")[:_LOOKED_AT]
    begin, names = frames.start, timeline.names
    end = begin + frames.duration
    threads = np.unique([lane.name for lane in timeline.lanes], return_inverse=True)[1]
    of_frame = threads[frames.lane]
    held: dict[str, list[int]] = {}
    for event, at, lane in zip(events.at[top].tolist(), events.start[top], events.lane[top], strict=True):
        inside = np.flatnonzero((begin <= at) & (end > at) & (of_frame == threads[lane]))
        if len(inside):
            name = names.values[names.codes[frames.at[inside[np.argmax(begin[inside])]]]]
            held.setdefault(name, []).append(event)
    spent = {name: int(Seen(timeline, np.array(mine)).duration.sum()) for name, mine in held.items()}
    dearest = sorted(held, key=lambda name: -spent[name])[:_MOST]
    sites = ((_site(name, spent[name]), np.array(held[name])) for name in dearest)
    return [(site, mine) for site, mine in sites if site is not None]


def _frames(timeline: Timeline) -> Seen:
    """Frames of the user's files."""
    frames = timeline.on_lanes("python")
    if not frames.any():
        return Seen(timeline, np.flatnonzero(frames))
    own = [bool((m := _FRAME.match(name)) and not _FOREIGN.search(m["file"])) for name in timeline.names.values]
    return Seen(timeline, np.flatnonzero(frames & np.array(own)[timeline.names.codes]))


def _site(name: str, spent_ns: int) -> Site | None:
    found = _FRAME.match(name)
    if not found:
        return None
    waited = spent_ns / NS_PER_MS
    return Site(found["file"], int(found["line"]), f"{found['function']}()", Interval(0.0, waited, waited))
