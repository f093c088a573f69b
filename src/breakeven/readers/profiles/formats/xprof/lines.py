"""XLA's profiles (JAX, TensorFlow), whatever file they come in: lines of planes to a Timeline.

Lines that repeat what the streams hold (steps, modules, operations, name scopes) are left out of the device's time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.errors import NoAnswer
from breakeven.readers.profiles.calls import of_annotation, of_call
from breakeven.readers.profiles.links import launched_by
from breakeven.readers.profiles.trace import Trace
from breakeven.results.traced import DeviceFacts
from breakeven.timeline import Lane, Origin, repaired, schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.schema import Kind

SOURCE: Final = "xprof"

_DEVICE: Final = re.compile(r"^/device:(?P<kind>[A-Z]+):(?P<number>\d+)")
_STREAM: Final = re.compile(r"^Stream\b|^/?stream", re.IGNORECASE)
_STEPS: Final = "Steps"
#: Starts beyond this fit no whole number of 64 bits; such an event is dropped later.
_FARTHEST_NS: Final = 2.0**62
_OPERATIONS: Final = "XLA Ops"  # of devices without streams (TPU)
_COPIES: Final = re.compile(r"^(?:Memcpy|Memset|memcpy|memset|CopyHostTo|CopyDeviceTo)")
_COLLECTIVE: Final = re.compile(r"nccl|rccl", re.IGNORECASE)
_PYTHON: Final = re.compile(r"^\$")
#: Events that say how the profile was taken, or that something happened at one instant.
_BOOKKEEPING: Final = re.compile(r"^ThreadpoolListener::|^end: ")
_WAITS: Final = re.compile(r"BlockHostUntilReady|BlockUntilReady|Await$|WaitForCompletion|HostCallback wait", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """One line of a plane: a thread, a stream, or something derived. Columns of shape (n,).

    Attributes:
        plane: `/host:CPU`, `/device:GPU:0` …
        name: of the line.
        names: of the events.
        start_ns: may have fractions; only differences count.
        duration_ns: the same.
        correlation: id that a call and its device work share; -1: none.
        step: number of a step annotation; -1: none.
        hlo: the event is an operation of XLA.
        bytes: of a copy; -1: not known.
    """

    plane: str
    name: str
    names: Sequence[str]
    start_ns: NDArray[np.float64]
    duration_ns: NDArray[np.float64]
    correlation: Ints
    step: Ints
    hlo: NDArray[np.bool_]
    bytes: Ints


def trace_of(lines: Sequence[Line], entries: int, name: str) -> tuple[Trace, tuple[str, ...]]:
    """The trace of one host, and what had to be mended.

    Raises:
        NoAnswer: no line holds an event.
    """
    kept = _kept(lines)
    if not any(len(line.names) for line in kept):
        raise NoAnswer(f"{name} holds no event: nothing to account for")
    lanes = [_lane(line) for line in kept]
    tables = [_table(line, i, lanes[i]) for i, line in enumerate(kept)]
    marks = _marks(lines, kept, len(lanes))
    frame = pl.concat([*tables, *([marks] if marks is not None else [])])
    start = frame[schema.EVENT_START.name].to_numpy()
    frame = frame.with_columns(
        (pl.col(schema.EVENT_START.name) - float(np.floor(start.min()))).round(),
        pl.col(schema.EVENT_DURATION.name).round(),
        pl.Series(schema.EVENT_LINK.name, _links(kept, lanes, frame)),
    )
    timeline, repairs = repaired(frame.to_dict(), lanes=(*lanes, Lane("host", "cpu", "steps")), origin=Origin("imported"))
    devices = {lane.device: DeviceFacts() for lane in lanes if lane.kind == "stream"}
    return Trace(timeline, SOURCE, entries, devices, name=name), tuple(r.sentence() for r in repairs)


def _kept(lines: Sequence[Line]) -> list[Line]:
    """Threads of the host and streams of the devices; Python's frames apart from the thread that they lie on."""
    streams = {line.plane for line in lines if _DEVICE.match(line.plane) and _STREAM.match(line.name)}
    kept = []
    for line in lines:
        if _DEVICE.match(line.plane):
            if _STREAM.match(line.name) or (line.plane not in streams and line.name == _OPERATIONS):
                kept.append(line)
        elif line.plane.startswith("/host") or not line.plane.startswith("/"):
            kept += _without_frames(line)
    return [line for line in kept if len(line.names)]


def _without_frames(line: Line) -> list[Line]:
    """A thread's line without bookkeeping, and its Python frames as a line of their own."""
    python = np.array([bool(_PYTHON.match(name)) for name in line.names], dtype=np.bool_)
    noise = np.array([bool(_BOOKKEEPING.match(name)) for name in line.names], dtype=np.bool_)
    threads = _part(line, ~python & ~noise & (line.step < 0), line.name)
    frames = _part(line, python, f"{line.name} (python)")
    return [threads, frames]


def _part(line: Line, which: NDArray[np.bool_], name: str) -> Line:
    names = [n for n, keep in zip(line.names, which.tolist(), strict=True) if keep]
    return Line(
        line.plane, name, names, line.start_ns[which], line.duration_ns[which], line.correlation[which], line.step[which],
        line.hlo[which], line.bytes[which],
    )  # fmt: skip


def _lane(line: Line) -> Lane:
    found = _DEVICE.match(line.plane)
    if found:
        prefix = "cuda" if found["kind"] == "GPU" else found["kind"].lower()
        return Lane("stream", f"{prefix}:{found['number']}", line.name)
    return Lane("python" if line.name.endswith("(python)") else "host", "cpu", line.name)


def _table(line: Line, at: int, lane: Lane) -> pl.DataFrame:
    kinds, causes = zip(
        *((_meaning(name, hlo, lane)) for name, hlo in zip(line.names, line.hlo.tolist(), strict=True)), strict=True
    )
    return pl.DataFrame([
        pl.Series(schema.EVENT_NAME.name, line.names, dtype=pl.String),
        pl.Series(schema.EVENT_KIND.name, kinds, dtype=pl.String),
        pl.Series(schema.EVENT_LANE.name, np.full(len(line.names), at, dtype=np.int64)),
        pl.Series(schema.EVENT_START.name, line.start_ns),
        pl.Series(schema.EVENT_DURATION.name, line.duration_ns),
        pl.Series(schema.EVENT_STEP.name, np.full(len(line.names), -1, dtype=np.int64)),
        pl.Series(schema.EVENT_BYTES.name, [b if b >= 0 else None for b in line.bytes.tolist()], dtype=pl.Int64),
        pl.Series(schema.EVENT_CAUSE.name, causes, dtype=pl.String),
    ])  # fmt: skip


def _meaning(name: str, hlo: bool, lane: Lane) -> tuple[str, str | None]:
    """Kind and cause of one event."""
    if lane.kind == "stream":
        if _COPIES.match(name):
            return Kind.COPY, None
        return (Kind.COMMUNICATION if _COLLECTIVE.search(name) else Kind.COMPUTE), None
    if lane.kind == "python":
        return Kind.HOST, None
    if hlo:
        return Kind.COMPUTE, None
    if _WAITS.search(name):
        return Kind.SYNC, None
    said = of_call(name)
    if said.kind == Kind.HOST and said.cause is None:
        said = of_annotation(name)
    return (said.kind if said.kind != Kind.STEP else Kind.HOST), said.cause


def _marks(lines: Sequence[Line], kept: Sequence[Line], lane: int) -> pl.DataFrame | None:
    """Marks of the steps: annotations on the host, else the line of steps of the device with most kernels."""
    found = [(f"{n} {step}", s, d) for line in lines for n, step, s, d in _numbered(line)]
    if not found:
        found = _device_steps(lines, kept)
    if not found:
        return None
    found.sort(key=lambda mark: mark[1])
    names, start, duration = zip(*found, strict=True)
    count = len(found)
    return pl.DataFrame([
        pl.Series(schema.EVENT_NAME.name, names, dtype=pl.String),
        pl.Series(schema.EVENT_KIND.name, [Kind.STEP] * count, dtype=pl.String),
        pl.Series(schema.EVENT_LANE.name, np.full(count, lane, dtype=np.int64)),
        pl.Series(schema.EVENT_START.name, start, dtype=pl.Float64),
        pl.Series(schema.EVENT_DURATION.name, duration, dtype=pl.Float64),
        pl.Series(schema.EVENT_STEP.name, np.arange(count)),
        pl.Series(schema.EVENT_BYTES.name, [None] * count, dtype=pl.Int64),
        pl.Series(schema.EVENT_CAUSE.name, [None] * count, dtype=pl.String),
    ])  # fmt: skip


def _numbered(line: Line) -> list[tuple[str, int, float, float]]:
    """Step annotations of a thread of the host."""
    if _DEVICE.match(line.plane):
        return []
    return [
        (line.names[i], int(line.step[i]), float(line.start_ns[i]), float(line.duration_ns[i]))
        for i in np.flatnonzero(line.step >= 0).tolist()
    ]


def _device_steps(lines: Sequence[Line], kept: Sequence[Line]) -> list[tuple[str, float, float]]:
    """The line of steps of the device that runs most kernels, then most events."""
    with_steps = [line for line in lines if line.name == _STEPS and _DEVICE.match(line.plane) and len(line.names)]
    if not with_steps:
        return []

    def work(plane: str) -> tuple[int, int]:
        names = [n for line in kept if line.plane == plane for n in line.names]
        return sum(not _COPIES.match(n) for n in names), len(names)

    best = max(with_steps, key=lambda line: work(line.plane))
    return list(zip(best.names, best.start_ns.tolist(), best.duration_ns.tolist(), strict=True))


def _links(kept: Sequence[Line], lanes: Sequence[Lane], frame: pl.DataFrame) -> Ints:
    """Device events to the calls that share their correlation id."""
    correlation = np.concatenate(
        [*(line.correlation for line in kept), np.full(frame.height - sum(len(k.names) for k in kept), -1)]
    )
    lane = frame[schema.EVENT_LANE.name].to_numpy()
    streams = np.isin(lane, [i for i, x in enumerate(lanes) if x.kind == "stream"])
    hosts = np.isin(lane, [i for i, x in enumerate(lanes) if x.kind == "host"])
    begins = np.nan_to_num(frame[schema.EVENT_START.name].to_numpy().astype(np.float64))
    start = np.rint(np.clip(begins, -_FARTHEST_NS, _FARTHEST_NS)).astype(np.int64)
    work, calls = np.flatnonzero(streams), np.flatnonzero(hosts)
    link = np.full(frame.height, -1, dtype=np.int64)
    if len(calls) and len(work):
        found = launched_by(correlation[work], start[work], correlation[calls], start[calls])
        link[work] = np.where(found >= 0, calls[found], -1)
    return link
