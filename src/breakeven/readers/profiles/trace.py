"""What reading a file gives: one trace per rank, each a Timeline with what its source said about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.results.traced import DeviceFacts, Shapes
from breakeven.timeline import Timeline


@dataclass(frozen=True)
class Trace:
    """One rank's timeline, and what its file says besides.

    Attributes:
        timeline: what happened when.
        source: kineto, nsys or xprof.
        entries: entries of the file, whatever they are.
        devices: by the device's name in the timeline (`cuda:0`).
        shapes: how its kernels were launched.
        rank: of the process in a distributed job; None: not said.
        world_size: processes in that job; None: not said.
        name: of the file or the archive's member.
    """

    timeline: Timeline
    source: str
    entries: int
    devices: Mapping[str, DeviceFacts] = field(default_factory=dict)
    shapes: Shapes = field(default_factory=Shapes)
    rank: int | None = None
    world_size: int | None = None
    name: str = ""


#: What a reader returns: a trace per rank, and one sentence for each thing that was lost or mended.
Reading = tuple[tuple[Trace, ...], tuple[str, ...]]
