"""PyTorch's profiler (Kineto) as JSON, from torch 1.8 on: CUDA, ROCm and CPU, microsecond and nanosecond clocks.

What it leaves out: flow arrows (correlation ids say the same), annotations on device lanes and synchronisation records, which
repeat what other events say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from breakeven.readers.profiles.calls import Meaning, of_annotation, of_call
from breakeven.readers.profiles.links import launched_by
from breakeven.readers.profiles.numbers import FARTHEST_US, known, near_others, number
from breakeven.readers.profiles.raw_columns import RawColumns
from breakeven.readers.profiles.trace import Trace
from breakeven.results.traced import DeviceFacts, Shapes
from breakeven.timeline import Lane, Origin, repaired, schema
from breakeven.timeline.coded import Coded
from breakeven.timeline.intervals import Ints
from breakeven.timeline.nesting import Numbers, by_time
from breakeven.timeline.schema import Kind

SOURCE: Final = "kineto"

#: Categories whose arguments hold how a kernel was launched.
WITH_ARGUMENTS: Final = frozenset({"kernel"})

_OPERATIONS, _CALLS, _KERNELS, _COPIES, _FRAMES, _PROFILER, _ANNOTATIONS, _NOTHING = range(8)
_CLASSES: Final[Mapping[str, int]] = {
    "": _OPERATIONS, "cpu_op": _OPERATIONS, "operator": _OPERATIONS, "user_annotation": _ANNOTATIONS,
    "kernel": _KERNELS, "gpu_memcpy": _COPIES, "memcpy": _COPIES, "gpu_memset": _COPIES, "memset": _COPIES,
    "python_function": _FRAMES, "overhead": _PROFILER,
}  # fmt: skip
#: Kind of the lane on which the events of each class lie; those of devices are told by device and stream.
_LANE_OF_CLASS: Final = ("host", "host", "", "", "python", "profiler", "marks", "")
_LANE_KINDS: Final = ("host", "python", "profiler", "marks", "")
_KINDS: Final = (
    Kind.HOST, Kind.COMPUTE, Kind.COPY, Kind.SYNC, Kind.LAUNCH, Kind.ALLOC, Kind.COMMUNICATION, Kind.STEP,
)  # fmt: skip
_CAUSES: Final = ("input", "warmup")
_PHASES: Final = (schema.Phase.INPUT, schema.Phase.BACKWARD, schema.Phase.OPTIMIZER)
_COLLECTIVES: Final = ("nccl", "rccl", "oneccl")


def trace_from(raw: RawColumns, header: Mapping[str, Any], entries: int, name: str) -> tuple[Trace, tuple[str, ...]]:
    """The trace of one rank, and what had to be mended or left out.

    Args:
        raw: its events.
        header: the object around them.
        entries: entries of the file.
        name: of the file.
    """
    of = _as_operations(raw, _classes(raw.categories)[raw.category])
    lane, lanes = _lanes(raw, of)
    usable = near_others(raw.ts)
    kinds, causes, phases = _meanings(raw, of)
    lane = np.where(kinds == _KINDS.index(Kind.STEP), len(lanes), lane)
    which = _in_order(raw, lane, np.flatnonzero((of != _NOTHING) & usable))
    kind, cause, phase = kinds[which], causes[which], phases[which]
    start, duration = _nanoseconds(raw.ts[which], raw.dur[which])
    marks = kind == _KINDS.index(Kind.STEP)
    columns = {
        schema.EVENT_NAME.name: Coded(raw.name[which], raw.names),
        schema.EVENT_KIND.name: Coded(kind, _KINDS),
        schema.EVENT_LANE.name: lane[which].astype(np.int32),
        schema.EVENT_START.name: start,
        schema.EVENT_DURATION.name: duration,
        schema.EVENT_LINK.name: _links(raw, of, which, start),
        schema.EVENT_STEP.name: np.where(marks, np.cumsum(marks) - 1, -1),
        schema.EVENT_PHASE.name: Coded(phase, _PHASES),
        schema.EVENT_BYTES.name: known(np.where(of == _COPIES, raw.bytes, -1)[which]),
        schema.EVENT_CAUSE.name: Coded(cause, _CAUSES),
    }
    timeline, repairs = repaired(
        columns, lanes=(*lanes, Lane("host", "cpu", "steps")), origin=Origin("imported", versions=_versions(header))
    )
    distributed = header.get("distributedInfo")
    told = distributed if isinstance(distributed, dict) else {}
    trace = Trace(
        timeline, SOURCE, entries, _devices(header, lanes), _shapes(raw), number(told.get("rank")),
        number(told.get("world_size")), name,
    )  # fmt: skip
    return trace, (*_missing(usable, of), *(r.sentence() for r in repairs))


def _in_order(raw: RawColumns, lane: Ints, which: Ints) -> Ints:
    """Events in the order of a timeline, as nearly as the file's own clock tells."""
    ordered: Ints = which[by_time(lane[which], raw.ts[which], -np.nan_to_num(-raw.dur[which]))]
    return ordered


def _is_call(category: str) -> bool:
    return category.lower().endswith(("runtime", "driver"))


def _classes(categories: tuple[str, ...]) -> Ints:
    """What the events of each category are."""
    found = [_CALLS if _is_call(c) else _CLASSES.get(c.lower(), _NOTHING) for c in categories]
    return np.array(found, dtype=np.int64) if found else np.zeros(0, dtype=np.int64)


def _as_operations(raw: RawColumns, of: Ints) -> Ints:
    """Annotations whose name says what the host does (it waits for the loader, it steps the optimizer) count as operations.

    All others only say where in the program it is.
    """
    annotations = np.flatnonzero(of == _ANNOTATIONS)
    names = raw.name[annotations]
    telling = [at for at in set(names.tolist()) if of_annotation(raw.names[at]) != Meaning(Kind.HOST)]
    out = of.copy()
    out[annotations[np.isin(names, telling)]] = _OPERATIONS
    return out


def _nanoseconds(ts: NDArray[np.float64], dur: NDArray[np.float64]) -> tuple[Numbers, Numbers]:
    """Starts and lengths in whole nanoseconds from the first event; a length that is missing or negative stays as it is.

    The origin is moved before the unit is changed: microseconds since 1970 times a thousand are too large for a float.
    """
    origin = np.floor(ts.min()) if len(ts) else 0.0
    start, duration = np.rint((ts - origin) * 1000.0), np.rint(dur * 1000.0)
    if (duration >= 0).all() and (duration < FARTHEST_US * 1000).all():
        return start.astype(np.int64), duration.astype(np.int64)
    return start, duration


def _meanings(raw: RawColumns, of: Ints) -> tuple[Ints, Ints, Ints]:
    """Kind, cause and phase of every event, as positions in the tuples above (-1: none); each distinct name is looked at once."""
    calls = _by_name(raw.names, np.unique(raw.name[of == _CALLS]), of_call)
    is_call, is_operation = of == _CALLS, (of == _OPERATIONS) | (of == _ANNOTATIONS)
    operations = _by_name(raw.names, np.unique(raw.name[is_operation]), of_annotation)
    found = []
    for place, none in enumerate((_KINDS.index(Kind.HOST), -1, -1)):
        codes = np.full(len(of), none, dtype=np.int32)
        codes[is_call] = calls[place][raw.name[is_call]]
        codes[is_operation] = operations[place][raw.name[is_operation]]
        found.append(codes)
    kernels = np.flatnonzero(of == _KERNELS)
    ran = raw.name[kernels]
    collective = [at for at in set(ran.tolist()) if any(c in raw.names[at].lower() for c in _COLLECTIVES)]
    found[0][kernels] = np.where(np.isin(ran, collective), _KINDS.index(Kind.COMMUNICATION), _KINDS.index(Kind.COMPUTE))
    found[0][of == _COPIES] = _KINDS.index(Kind.COPY)
    return found[0], found[1], found[2]


def _by_name(names: tuple[str, ...], used: Ints, meaning: Callable[[str], Meaning]) -> tuple[Ints, Ints, Ints]:
    """Codes of the meanings of the names in use."""
    codes = np.zeros((3, max(1, len(names))), dtype=np.int32)
    for at in used.tolist():
        said = meaning(names[at])
        codes[:, at] = (
            _KINDS.index(said.kind),
            -1 if said.cause is None else _CAUSES.index(said.cause),
            -1 if said.phase is None else _PHASES.index(said.phase),
        )
    return codes[0], codes[1], codes[2]


def _lanes(raw: RawColumns, of: Ints) -> tuple[Ints, tuple[Lane, ...]]:
    """Lane of every event: threads, streams of devices, a thread's stack frames, the profiler's own doings."""
    lanes: dict[Lane, int] = {}
    titles = {(str(pid), str(tid)): name for kind, pid, tid, name in raw.labels if kind == "thread_name"}
    kind_of = np.array([_LANE_KINDS.index(k) for k in _LANE_OF_CLASS])[of]
    both = kind_of * max(1, len(raw.lanes)) + raw.lane
    made = np.zeros(len(_LANE_KINDS) * max(1, len(raw.lanes)), dtype=np.int64)
    for at in np.flatnonzero(np.bincount(both)).tolist():
        kind, place = _LANE_KINDS[at // len(raw.lanes)], at % len(raw.lanes)
        if kind:
            process, thread = (str(x) for x in raw.lanes[place])
            title = titles.get((process, thread), f"thread {thread}")
            made[at] = lanes.setdefault(Lane(kind, "cpu", f"{process}/{title}"), len(lanes))
    out = made[both]
    device_events = np.flatnonzero((of == _KERNELS) | (of == _COPIES))
    out[device_events] = _streams(raw, device_events, lanes)
    return out, tuple(lanes)


def _streams(raw: RawColumns, which: Ints, lanes: dict[Lane, int]) -> Ints:
    """Lanes of device events: by device and stream, which old and cut-down traces give as process and thread alone."""
    process, thread = (np.array([number(x[i], 0) for x in raw.lanes] or [0], dtype=np.int64)[raw.lane[which]] for i in (0, 1))
    device = np.where(raw.device[which] >= 0, raw.device[which], process)
    stream = np.where(raw.stream[which] >= 0, raw.stream[which], thread)
    devices, on = np.unique(device, return_inverse=True)
    streams, of = np.unique(stream, return_inverse=True)
    pairs, at = np.unique(on * max(1, len(streams)) + of, return_inverse=True)
    made = [
        lanes.setdefault(Lane("stream", f"cuda:{devices[p // len(streams)]}", f"stream {streams[p % len(streams)]}"), len(lanes))
        for p in pairs.tolist()
    ]
    found: Ints = np.array(made, dtype=np.int64)[at.reshape(-1)] if len(which) else np.zeros(0, dtype=np.int64)
    return found


def _links(raw: RawColumns, of: Ints, which: Ints, start: Numbers) -> Ints:
    """For each device event the call that launched it, as a position among the events that are kept."""
    mine = of[which]
    calls, work = np.flatnonzero(mine == _CALLS), np.flatnonzero((mine == _KERNELS) | (mine == _COPIES))
    begins = start.astype(np.int64, copy=False)
    ids = raw.correlation[which]
    found = launched_by(ids[work], begins[work], ids[calls], begins[calls])
    link = np.full(len(which), -1, dtype=np.int64)
    link[work] = np.where(found >= 0, calls[found], -1) if len(calls) else -1
    return link


def _devices(header: Mapping[str, Any], lanes: tuple[Lane, ...]) -> dict[str, DeviceFacts]:
    """What the header says about the devices that have lanes; where none is named so and all are alike, what it says of all.

    ROCm numbers its devices otherwise than the header lists them.
    """
    listed = header.get("deviceProperties")
    listed = [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    by_id = {f"cuda:{d.get('id')}": _device(d) for d in listed}
    alike = set(by_id.values())
    used = dict.fromkeys(lane.device for lane in lanes if lane.kind == "stream") or dict.fromkeys(by_id)
    either = alike.pop() if len(alike) == 1 else None
    return {device: by_id.get(device) or either or DeviceFacts() for device in used}


def _device(told: Mapping[str, Any]) -> DeviceFacts:
    name = told.get("name")
    return DeviceFacts(
        name if isinstance(name, str) and name else None, number(told.get("numSms")), _bytes(told.get("totalGlobalMem"))
    )


def _bytes(value: Any) -> int | None:  # of the file: anything
    return value if isinstance(value, int) and 0 < value < 1 << 50 else None


def _shapes(raw: RawColumns) -> Shapes:
    """Means of the launches by kernel name."""
    of, weight = raw.name[raw.argued].astype(np.int64), np.nan_to_num(raw.dur[raw.argued])
    each = np.ones(len(of))
    columns = ((raw.blocks, each), (raw.threads, each), (raw.occupancy / 100, weight))
    return Shapes(*(_means(raw.names, of, values, by) for values, by in columns))


def _means(names: tuple[str, ...], of: Ints, values: NDArray[np.float64], weight: NDArray[np.float64]) -> dict[str, float]:
    """Weighted mean by name, of those that have one."""
    good = np.isfinite(values)
    total = np.bincount(of[good], weights=weight[good], minlength=len(names))
    summed = np.bincount(of[good], weights=weight[good] * values[good], minlength=len(names))
    return {names[i]: float(summed[i] / total[i]) for i in np.flatnonzero(total > 0).tolist()}


def _versions(header: Mapping[str, Any]) -> dict[str, str]:
    """Versions that the header states."""
    wanted = (
        "schemaVersion", "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version",
        "hip_driver_version", "roctracer_version",
    )  # fmt: skip
    return {key: str(header[key])[:40] for key in wanted if isinstance(header.get(key), int | float | str)}


def _missing(usable: NDArray[np.bool_], of: Ints) -> tuple[str, ...]:
    """What was left out, counted."""
    lost = int((~usable & (of != _NOTHING)).sum())
    return (f"{lost} events without a usable start left out",) if lost else ()
