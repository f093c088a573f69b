"""Any Timeline as a speedscope file: one evented profile per lane (speedscope.app/file-format-schema.json)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from breakeven.timeline import Timeline, schema
from breakeven.timeline.nesting import nesting
from breakeven.timeline.timeline import column

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"


def to_speedscope(timeline: Timeline, name: str = "breakeven") -> bytes:
    """The timeline as JSON; lanes without events are left out.

    Args:
        timeline: measured, simulated or imported.
        name: of the file, as the tool shows it.
    """
    frame = timeline.events
    names = frame[schema.EVENT_NAME.name].to_list()
    frames: dict[str, int] = {}
    codes = np.array([frames.setdefault(n, len(frames)) for n in names], dtype=np.int64)
    lane, start = column(frame, schema.EVENT_LANE), column(frame, schema.EVENT_START)
    duration = column(frame, schema.EVENT_DURATION)
    depth = nesting(lane, start, duration).depth
    profiles = []
    for at, known in enumerate(timeline.lanes):
        mine = np.flatnonzero((lane == at) & (duration > 0))
        if len(mine):
            events = _opened_and_closed(codes[mine], start[mine], start[mine] + duration[mine], depth[mine])
            profiles.append({
                "type": "evented", "name": f"{known.device} {known.kind} {known.name}".strip(), "unit": "nanoseconds",
                "startValue": int(start[mine].min()), "endValue": int((start + duration)[mine].max()), "events": events,
            })  # fmt: skip
    shared = {"frames": [{"name": n} for n in frames]}
    document = {"$schema": _SCHEMA, "name": name, "exporter": "breakeven", "shared": shared, "profiles": profiles}
    return msgspec.json.encode(document)


def _opened_and_closed(code: Any, start: Any, end: Any, depth: Any) -> list[dict[str, Any]]:  # arrays of whole numbers; JSON
    """Openings and closings in order: at one instant what ends closes first, inner before outer, and outer opens first."""
    time, opens = np.concatenate([start, end]), np.repeat([1, 0], len(start))
    order = np.lexsort((np.concatenate([depth, -depth]), opens, time))
    frames = np.concatenate([code, code])[order].tolist()
    kinds = opens[order].tolist()
    return [
        {"type": "O" if kind else "C", "frame": frame, "at": at}
        for kind, frame, at in zip(kinds, frames, time[order].tolist(), strict=True)
    ]
