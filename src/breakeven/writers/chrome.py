"""Any Timeline as Chrome trace JSON, which Perfetto and chrome://tracing open, and the readers here read back.

What it does not write: source lines and limits, for which the format has no place that tools look at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from breakeven.results.traced import DeviceFacts
from breakeven.timeline import Lane, Timeline, schema
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

_NS_PER_US: Final = 1000.0
_DEVICE_PID: Final = 1_000_000  # processes of devices, so that no thread of the host is among them

#: Category of a host event by its kind, as PyTorch's profiler names them.
_HOST: Final = {
    Kind.LAUNCH: "cuda_runtime", Kind.SYNC: "cuda_runtime", Kind.ALLOC: "cuda_runtime", Kind.STEP: "user_annotation",
    Kind.COMMUNICATION: "user_annotation",
}  # fmt: skip


def to_chrome(timeline: Timeline, devices: Mapping[str, DeviceFacts] | None = None) -> bytes:
    """The timeline as JSON.

    Args:
        timeline: measured, simulated or imported.
        devices: what is known of its devices, for the header.
    """
    lanes = timeline.lanes
    ids = {device: at for at, device in enumerate(dict.fromkeys(lane.device for lane in lanes if _on_device(lane)))}
    events = [event for at, lane in enumerate(lanes) for event in _name(at, lane, ids)]
    frame = timeline.events
    link, start = column(frame, schema.EVENT_LINK), column(frame, schema.EVENT_START)
    duration, lane_of = column(frame, schema.EVENT_DURATION), column(frame, schema.EVENT_LANE)
    linked = set(link[link >= 0].tolist())
    rows = zip(
        frame[schema.EVENT_NAME.name].to_list(), frame[schema.EVENT_KIND.name].to_list(), lane_of.tolist(), start.tolist(),
        duration.tolist(), link.tolist(), frame[schema.EVENT_BYTES.name].to_list(), strict=True,
    )  # fmt: skip
    for at, (name, kind, lane, begin, length, cause, size) in enumerate(rows):
        correlation = cause if cause >= 0 else at if at in linked else -1
        events.append(_event(name, kind, lanes[lane], lane, ids, begin, length, correlation, size))
    header = [_facts(at, (devices or {}).get(device)) for device, at in ids.items()]
    return msgspec.json.encode({"schemaVersion": 1, "deviceProperties": header, "displayTimeUnit": "ms", "traceEvents": events})


def _on_device(lane: Lane) -> bool:
    return lane.kind in ("stream", "copy")


def _facts(at: int, facts: DeviceFacts | None) -> dict[str, Any]:  # JSON values
    told = facts or DeviceFacts()
    known = {"name": told.name or "", "numSms": told.multiprocessors, "totalGlobalMem": told.memory_bytes}
    return {"id": at, **{key: value for key, value in known.items() if value is not None}}


def _place(lane: Lane, at: int, ids: Mapping[str, int]) -> tuple[int, int]:
    """Process and thread."""
    return (_DEVICE_PID + ids[lane.device], at) if _on_device(lane) else (1, at)


def _name(at: int, lane: Lane, ids: Mapping[str, int]) -> list[dict[str, Any]]:  # JSON values
    pid, tid = _place(lane, at, ids)
    label = f"{lane.device} {lane.name}" if _on_device(lane) else f"{lane.kind} {lane.name}".strip()
    return [{"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "ts": 0, "args": {"name": label}}]


def _event(
    name: str, kind: str, lane: Lane, at: int, ids: Mapping[str, int], begin: int, length: int, correlation: int, size: int | None
) -> dict[str, Any]:  # JSON values
    """One complete event."""
    pid, tid = _place(lane, at, ids)
    arguments: dict[str, Any] = {} if correlation < 0 else {"correlation": correlation}
    if _on_device(lane):
        category = "gpu_memset" if "emset" in name else "gpu_memcpy" if kind == Kind.COPY else "kernel"
        arguments |= {"device": ids[lane.device], "stream": at}
        if size is not None:
            arguments["bytes"] = size
    else:
        category = {"python": "python_function", "profiler": "overhead", "marks": "user_annotation"}.get(lane.kind) or _HOST.get(
            kind, "cuda_runtime" if correlation >= 0 else "cpu_op"
        )
    return {
        "ph": "X", "cat": category, "name": _mark(name, kind), "pid": pid, "tid": tid, "ts": begin / _NS_PER_US,
        "dur": length / _NS_PER_US, "args": arguments,
    }  # fmt: skip


def _mark(name: str, kind: str) -> str:
    """Marks of steps carry the prefix by which they are known again."""
    return name if kind != Kind.STEP or name.startswith("ProfilerStep") else f"ProfilerStep#{name}"
