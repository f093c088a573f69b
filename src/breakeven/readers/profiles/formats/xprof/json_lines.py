"""XLA's profiles as Chrome JSON (`trace.json.gz` of JAX and TensorFlow): its processes are planes, its threads lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from breakeven.readers.profiles.formats.xprof.lines import Line, trace_of
from breakeven.readers.profiles.numbers import FARTHEST_US, near_others
from breakeven.readers.profiles.raw_columns import RawColumns
from breakeven.readers.profiles.trace import Trace


def is_xla(raw: RawColumns) -> bool:
    """Whether the processes are named as planes of XLA are."""
    return any(kind == "process_name" and name.startswith(("/host:", "/device:")) for kind, _, _, name in raw.labels)


def trace_from(
    raw: RawColumns, header: Mapping[str, Any], entries: int, name: str
) -> tuple[Trace, tuple[str, ...]]:  # header: JSON
    """The trace of one host, and what had to be mended.

    Args:
        raw: its events.
        header: the object around them.
        entries: entries of the file.
        name: of the file.
    """
    planes = {str(pid): label for kind, pid, _, label in raw.labels if kind == "process_name"}
    threads = {(str(pid), str(tid)): label for kind, pid, tid, label in raw.labels if kind == "thread_name"}
    usable = near_others(raw.ts)
    origin = np.floor(raw.ts[usable].min()) if usable.any() else 0.0
    lengths = np.clip(np.nan_to_num(raw.dur), -FARTHEST_US, FARTHEST_US) * 1000.0
    lines = []
    for at, (process, thread) in enumerate(raw.lanes):
        mine = np.flatnonzero((raw.lane == at) & usable)
        title = threads.get((str(process), str(thread)), f"thread {thread}")
        lines.append(Line(
            planes.get(str(process), "/host:CPU"), title, [raw.names[i] for i in raw.name[mine].tolist()],
            (raw.ts[mine] - origin) * 1000.0, lengths[mine], raw.correlation[mine], raw.step[mine],
            raw.hlo[mine] > 0, raw.bytes[mine],
        ))  # fmt: skip
    trace, said = trace_of(lines, entries, name)
    lost = int((~usable).sum())
    return trace, (*said, *((f"{lost} events without a start left out",) if lost else ()))
