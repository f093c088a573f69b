"""Small traces made by hand, in every format: three steps of three kernels, a wait, a copy, a loader."""

from __future__ import annotations

import json
import pathlib
import sqlite3
from collections.abc import Iterable
from typing import Any

Event = dict[str, Any]

STEP_US = 1000
KERNELS = 3


def kineto_events(steps: int = 3, loader_us: int = 200, clock: float = 1.0e6) -> list[Event]:
    """Per step: the loader, then three operations of 100 µs that each launch a kernel of 50 µs 40 µs after they began."""
    events: list[Event] = [
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": clock, "args": {"name": "thread 1 (python)"}}
    ]
    for step in range(steps):
        at = clock + step * STEP_US
        events.append(_x("user_annotation", f"ProfilerStep#{step + 5}", at, STEP_US - 100))
        events.append(_x("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, loader_us))
        for i in range(KERNELS):
            call, begin = 10 * step + i, at + loader_us + 110 * i
            events += [
                _x("cpu_op", "aten::mm", begin, 100),
                _x("cuda_runtime", "cudaLaunchKernel", begin + 10, 8, correlation=call),
                _x(
                    "kernel",
                    "ampere_sgemm_128x64_tn",
                    begin + 40,
                    50,
                    0,
                    7,
                    device=0,
                    stream=7,
                    correlation=call,
                    grid=[64, 1, 1],
                ),
            ]
    return events


def kineto(path: pathlib.Path, events: Iterable[Event] | None = None, **header: Any) -> pathlib.Path:
    """Write a trace as PyTorch's profiler does."""
    devices = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108, "totalGlobalMem": 85_000_000_000}]
    document = {"schemaVersion": 1, "deviceProperties": devices, **header, "traceEvents": list(events or kineto_events())}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def _x(cat: str, name: str, ts: float, dur: float, pid: int = 1, tid: int = 1, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def nsys(path: pathlib.Path, steps: int = 3, without: frozenset[str] = frozenset()) -> pathlib.Path:
    """Write a report as `nsys export --type sqlite` does, with the fewest columns; some tables may be left out."""
    span, device = 'start INTEGER, "end" INTEGER', "deviceId INTEGER, streamId INTEGER, correlationId INTEGER"
    with sqlite3.connect(path) as db:
        names = ["ampere_sgemm", "cudaLaunchKernel_v7000", "aten::mm, op_id = 3"]
        tables = {
            "StringIds": ("id INTEGER, value TEXT", list(enumerate(names))),
            "TARGET_INFO_GPU": ("id INTEGER, name TEXT", [(0, "NVIDIA H100")]),
            "META_DATA_EXPORT": ("name TEXT, value TEXT", [("EXPORT_SCHEMA_VERSION", "3.9.0")]),
            "CUPTI_ACTIVITY_KIND_RUNTIME": (f"{span}, correlationId INTEGER, globalTid INTEGER, nameId INTEGER", []),
            "CUPTI_ACTIVITY_KIND_KERNEL": (
                f"{span}, {device}, shortName INTEGER", [],
            ),
            "CUPTI_ACTIVITY_KIND_MEMCPY": (
                f"{span}, {device}, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER",
                [(100, 400, 0, 7, 900, 4096, 1, 0, 2)],
            ),
            "NVTX_EVENTS": (f"{span}, globalTid INTEGER, text TEXT, textId INTEGER", []),
        }  # fmt: skip
        for step in range(steps):
            at = 1000 * step
            tables["NVTX_EVENTS"][1].append((at, at + 900, 1, f"step {step}", None))
            tables["NVTX_EVENTS"][1].append((at + 400, at + 600, 1, None, 2))
            tables["CUPTI_ACTIVITY_KIND_RUNTIME"][1].append((at + 450, at + 460, step, 1, 1))
            tables["CUPTI_ACTIVITY_KIND_KERNEL"][1].append((at + 500, at + 800, 0, 7, step, 0))
        for table, (columns, rows) in tables.items():
            if table not in without:
                db.execute(f"CREATE TABLE {table} ({columns})")
                if rows:
                    db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.close()
    return path


def xplane(path: pathlib.Path) -> pathlib.Path:
    """Write an XPlane of a host with two step annotations, and a device whose one stream runs two kernels."""
    host = _field(2, b"/host:CPU") + _metadata(4, 1, b"train") + _metadata(5, 9, b"step_num")
    host += _field(3, _field(2, b"python") + _event(1, 0, 900, _stat(9, 0)) + _event(1, 1000, 900, _stat(9, 1)))
    device = _field(2, b"/device:GPU:0") + _metadata(4, 1, b"gemm") + _metadata(4, 2, b"step")
    device += _field(3, _field(2, b"Stream #7(Compute)") + _event(1, 100, 300) + _event(1, 1100, 300))
    device += _field(3, _field(2, b"TensorFlow Ops") + _event(2, 0, 1900))
    path.write_bytes(_field(1, host) + _field(1, device))
    return path


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _metadata(number: int, key: int, name: bytes) -> bytes:
    return _field(number, _field(1, key) + _field(2, _field(1, key) + _field(2, name)))


def _stat(key: int, value: int) -> bytes:
    return _field(4, _field(1, key) + _field(4, value))


def _event(metadata: int, offset_ns: int, duration_ns: int, stats: bytes = b"") -> bytes:
    return _field(4, _field(1, metadata) + _field(2, offset_ns * 1000) + _field(3, duration_ns * 1000) + stats)
