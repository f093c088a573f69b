"""Nsight Systems reports, exported to SQLite (`nsys export --type sqlite`), of any schema version that has the CUPTI tables.

Columns that a version lacks are taken as missing. What it leaves out: samples, scheduling, operating system calls.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.errors import InputError, NoAnswer
from breakeven.readers.profiles.calls import Meaning, of_annotation, of_call
from breakeven.readers.profiles.files import Source
from breakeven.readers.profiles.links import launched_by
from breakeven.readers.profiles.numbers import known, number, whole
from breakeven.readers.profiles.nvtx import is_step, operation_name
from breakeven.readers.profiles.trace import Reading, Trace
from breakeven.results.traced import DeviceFacts, Shapes
from breakeven.timeline import Lane, Origin, repaired, schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.schema import Kind

SOURCE: Final = "nsys"

_MAGIC: Final = b"SQLite format 3\x00"
_RUNTIME, _KERNEL = "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL"
_MEMCPY, _MEMSET = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"
_GRAPHS, _NVTX, _STRINGS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "NVTX_EVENTS", "StringIds"

#: Kinds of copies and of memory, as CUPTI numbers them (the export's own tables ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND).
_COPIES: Final = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
    11: "HtoD",
    12: "DtoH",
    13: "DtoD",
}
_MEMORY: Final = {0: "Pageable", 1: "Pinned", 2: "Device", 3: "Array", 4: "Managed", 5: "Device", 6: "Managed"}

#: Of a range's global thread id the upper part is its process (NVIDIA's documentation of the export).
_PROCESS: Final = ~0xFFFFFF
_VERSION: Final = re.compile(r"(?:_v\d+)?(?:_ptsz|_ptds)?$")

#: Instructions of SQLite's machine after which a query is given up: some thousand for each row of real exports.
_PATIENCE: Final = 2_000
_STEP: Final = 100_000
#: Rows that are held as objects at a time.
_ROWS: Final = 65_536


def matches(head: bytes) -> bool:
    """Whether a file that begins so is a SQLite database."""
    return head.startswith(_MAGIC)


def read(source: Source) -> Reading:
    """The trace of one report.

    Raises:
        InputError: it is no database, or none of Nsight Systems.
        NoAnswer: it holds no event.
    """
    if source.path is None:
        raise InputError(f"{source.name}: unpack this database first; SQLite reads it where it lies")
    uri = f"file:{quote(str(source.path.resolve()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return _read(_Database(connection), source.name)
    except sqlite3.Error as error:
        raise InputError(f"{source.name} is no database that can be read: {error}") from error


@dataclass(frozen=True)
class _Database:
    """A database that is not trusted: only tables are read, and no query runs for ever."""

    connection: sqlite3.Connection

    def tables(self) -> set[str]:
        """Names of its tables (views are left alone)."""
        rows = self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
        return {str(name) for (name,) in rows}

    def numbers(self, table: str, wanted: Sequence[str]) -> dict[str, Ints]:
        """Whole columns of numbers, read in parts; -1 where one is missing or the table lacks the column."""
        parts = [[whole(column) for column in zip(*rows, strict=True)] for rows in self._parts(table, wanted)]
        if not parts:
            return {name: np.zeros(0, dtype=np.int64) for name in wanted}
        return {name: np.concatenate(column) for name, column in zip(wanted, zip(*parts, strict=True), strict=True)}

    def texts(self, table: str, wanted: Sequence[str]) -> dict[str, list[Any]]:
        """Whole columns as they are (Any: whatever the file holds), for small tables and for texts."""
        rows = [row for part in self._parts(table, wanted) for row in part]
        found = zip(*rows, strict=True) if rows else ([] for _ in wanted)
        return {name: list(values) for name, values in zip(wanted, found, strict=True)}

    def _parts(self, table: str, wanted: Sequence[str]) -> Iterator[list[tuple[Any, ...]]]:
        """Rows of a table, many at a time (Any: whatever the file holds)."""
        there = {str(row[1]) for row in self.connection.execute(f'PRAGMA table_info("{table}")')}
        picked = ", ".join(f'"{c}"' if c in there else "NULL" for c in wanted)
        with self._bounded(table):
            cursor = self.connection.execute(f'SELECT {picked} FROM "{table}"')
            while rows := cursor.fetchmany(_ROWS):
                yield rows

    @contextmanager
    def _bounded(self, table: str) -> Iterator[None]:
        left = _PATIENCE

        def asked() -> int:
            nonlocal left
            left -= 1
            return left < 0

        self.connection.set_progress_handler(asked, _STEP)
        try:
            yield
        except sqlite3.OperationalError as error:
            raise InputError(f"table {table} cannot be read: {error}") from error
        finally:
            self.connection.set_progress_handler(None, 0)


@dataclass(frozen=True)
class _Part:
    """Events of one table, as columns of shape (n,).

    Attributes:
        names: distinct names; `name` points into them, and `meanings` say what they mean.
        lane: key of the lane: (kind, device or process, stream or thread).
        correlation: (process, id); -1: none.
    """

    names: list[str]
    meanings: list[Meaning]
    name: Ints
    lane: list[Lane]
    start: Ints
    end: Ints
    process: Ints
    correlation: Ints
    bytes: Ints


def _read(database: _Database, name: str) -> Reading:
    tables = database.tables()
    if not tables & {_RUNTIME, _KERNEL, _NVTX, _MEMCPY, "META_DATA_EXPORT", _STRINGS}:
        raise InputError(f"{name} is a database, but no export of Nsight Systems")
    strings = _strings(database) if _STRINGS in tables else {}
    parts = [reader(database, strings) for table, reader in _READERS if table in tables]
    parts = [part for part in parts if len(part.start)]
    if not parts:
        raise NoAnswer(f"{name} holds no CUDA and no NVTX event: nothing to account for")
    columns, lanes = _joined(parts)
    timeline, repairs = repaired(columns, lanes=lanes, origin=Origin("imported", versions=_versions(database, tables)))
    shapes = _shapes(database, strings) if _KERNEL in tables else Shapes()
    trace = Trace(timeline, SOURCE, sum(len(p.start) for p in parts), _devices(database, tables, lanes), shapes, name=name)
    return (trace,), tuple(r.sentence() for r in repairs)


def _strings(database: _Database) -> dict[int, str]:
    columns = database.texts(_STRINGS, ("id", "value"))
    return {i: str(v) for i, v in zip(columns["id"], columns["value"], strict=True) if isinstance(i, int)}


def _runtime(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_RUNTIME, ("start", "end", "globalTid", "correlationId", "nameId"))
    names, codes = _named(c["nameId"], {i: _VERSION.sub("", text) for i, text in strings.items()}, "")
    return _host(c, names, codes, [of_call(n) for n in names], c["correlationId"])


def _nvtx(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_NVTX, ("start", "end", "globalTid", "textId"))
    texts = database.texts(_NVTX, ("text",))["text"]
    ranges = np.flatnonzero(c["end"] >= 0)
    c = {key: values[ranges] for key, values in c.items()}
    said = [
        texts[i] if isinstance(texts[i], str) else strings.get(t, "")
        for i, t in zip(ranges.tolist(), c["textId"].tolist(), strict=True)
    ]
    names, codes = _coded([operation_name(text) for text in said])
    meanings = [Meaning(Kind.STEP) if is_step(n) else of_annotation(n) for n in names]
    telling = np.array([m != Meaning(Kind.HOST) or "::" in n for n, m in zip(names, meanings, strict=True)] or [False])
    return _host(c, names, codes, meanings, np.full(len(ranges), -1, dtype=np.int64), marks=~telling[codes])


def _host(
    c: dict[str, Ints], names: list[str], codes: Ints, meanings: list[Meaning], correlation: Ints,
    marks: NDArray[np.bool_] | None = None,
) -> _Part:  # fmt: skip
    threads = c["globalTid"]
    process = threads & _PROCESS
    kinds = np.zeros(len(threads), dtype=np.int64) if marks is None else marks.astype(np.int64)
    made = {
        (int(k), int(t)): Lane("marks" if k else "host", "cpu", f"thread {int(t) & 0xFFFFFF} of {int(t) >> 24 & 0xFFFFFF}")
        for k, t in set(zip(kinds.tolist(), threads.tolist(), strict=True))
    }
    lane = [made[key] for key in zip(kinds.tolist(), threads.tolist(), strict=True)]
    steps = np.array([m.kind == Kind.STEP for m in meanings] or [False], dtype=np.bool_)
    if len(codes) and steps[codes].any():
        lane = [Lane("host", "cpu", "steps") if s else x for s, x in zip(steps[codes].tolist(), lane, strict=True)]
    return _Part(
        names, meanings, codes, lane, c["start"], c["end"], process, correlation,
        np.full(len(lane), -1, dtype=np.int64),
    )  # fmt: skip


_ON_DEVICE: Final = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")


def _kernel_names(c: dict[str, Ints], strings: dict[int, str]) -> tuple[list[str], Ints]:
    """Full names of kernels, else short ones."""
    known = np.array(sorted(strings) or [-1], dtype=np.int64)
    full = np.isin(c["demangledName"], known)
    return _named(np.where(full, c["demangledName"], c["shortName"]), strings, "kernel")


def _kernels(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_KERNEL, (*_ON_DEVICE, "demangledName", "shortName"))
    names, codes = _kernel_names(c, strings)
    kinds = [Meaning(Kind.COMMUNICATION if "nccl" in n.lower() else Kind.COMPUTE) for n in names]
    return _device(c, names, codes, kinds, np.full(len(codes), -1, dtype=np.int64))


def _graphs(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_GRAPHS, (*_ON_DEVICE, "graphId"))
    names, codes = _named(c["graphId"], {}, "CUDA graph")
    return _device(c, names, codes, [Meaning(Kind.COMPUTE)] * len(names), np.full(len(codes), -1, dtype=np.int64))


def _memcpys(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_MEMCPY, (*_ON_DEVICE, "bytes", "copyKind", "srcKind", "dstKind"))
    key = (c["copyKind"] * 256 + c["srcKind"]) * 256 + c["dstKind"]
    kinds, codes = np.unique(key, return_inverse=True)
    names = [
        f"Memcpy {_COPIES.get(k >> 16, 'unknown')} ({_MEMORY.get(k >> 8 & 255, '?')} -> {_MEMORY.get(k & 255, '?')})"
        for k in kinds.tolist()
    ]
    return _device(c, names, codes.reshape(-1), [Meaning(Kind.COPY)] * len(names), c["bytes"])


def _memsets(database: _Database, strings: dict[int, str]) -> _Part:
    c = database.numbers(_MEMSET, (*_ON_DEVICE, "bytes"))
    return _device(c, ["Memset (Device)"], np.zeros(len(c["start"]), dtype=np.int64), [Meaning(Kind.COPY)], c["bytes"])


_READERS: Final = (
    (_RUNTIME, _runtime), (_NVTX, _nvtx), (_KERNEL, _kernels), (_GRAPHS, _graphs), (_MEMCPY, _memcpys), (_MEMSET, _memsets),
)  # fmt: skip


def _device(c: dict[str, Ints], names: list[str], codes: Ints, meanings: list[Meaning], size: Ints) -> _Part:
    pairs = list(zip(c["deviceId"].tolist(), c["streamId"].tolist(), strict=True))
    made = {pair: Lane("stream", f"cuda:{pair[0]}", f"stream {pair[1]}") for pair in set(pairs)}
    return _Part(names, meanings, codes, [made[p] for p in pairs], c["start"], c["end"], c["globalPid"], c["correlationId"], size)


def _named(ids: Ints, strings: dict[int, str], unknown: str) -> tuple[list[str], Ints]:
    """Names of ids and each one's position among them."""
    distinct, at = np.unique(ids, return_inverse=True)
    names, codes = _coded([strings.get(i, unknown) for i in distinct.tolist()])
    return names, codes[at.reshape(-1)] if len(ids) else np.zeros(0, dtype=np.int64)


def _coded(values: list[str]) -> tuple[list[str], Ints]:
    distinct: dict[str, int] = {}
    codes = np.array([distinct.setdefault(v, len(distinct)) for v in values], dtype=np.int64)
    return list(distinct), codes


def _joined(parts: list[_Part]) -> tuple[dict[str, pl.Series], tuple[Lane, ...]]:
    """All events as columns of a timeline, and their lanes."""
    lanes: dict[Lane, int] = {}
    lane = np.concatenate([np.array([lanes.setdefault(x, len(lanes)) for x in p.lane], dtype=np.int64) for p in parts])
    start, end = (np.concatenate([getattr(p, which) for p in parts]) for which in ("start", "end"))
    frames = [
        pl.DataFrame({
            schema.EVENT_NAME.name: pl.Series(p.names, dtype=pl.String)[p.name],
            schema.EVENT_KIND.name: pl.Series([m.kind for m in p.meanings], dtype=pl.String)[p.name],
            schema.EVENT_CAUSE.name: pl.Series([m.cause for m in p.meanings], dtype=pl.String)[p.name],
            schema.EVENT_PHASE.name: pl.Series([m.phase for m in p.meanings], dtype=pl.String)[p.name],
            schema.EVENT_BYTES.name: known(p.bytes),
        })
        for p in parts
    ]  # fmt: skip
    frame = pl.concat(frames)
    marks = (frame[schema.EVENT_KIND.name] == Kind.STEP).to_numpy()
    columns = frame.with_columns(
        pl.Series(schema.EVENT_LANE.name, lane),
        pl.Series(schema.EVENT_START.name, start),
        pl.Series(schema.EVENT_DURATION.name, end - start),
        pl.Series(schema.EVENT_LINK.name, _links(parts, lane, tuple(lanes), start)),
        pl.Series(
            schema.EVENT_STEP.name, np.where(marks, np.argsort(np.argsort(np.where(marks, start, np.iinfo(np.int64).max))), -1)
        ),
    )
    return columns.to_dict(), tuple(lanes)


def _links(parts: list[_Part], lane: Ints, lanes: tuple[Lane, ...], start: Ints) -> Ints:
    """Device events to their calls: correlation ids count within a process, where the export says which."""
    ids, process = (np.concatenate([getattr(p, which) for p in parts]) for which in ("correlation", "process"))
    on_device = np.isin(lane, [i for i, x in enumerate(lanes) if x.kind == "stream"])
    told = bool((process[on_device] >= 0).any()) and bool((process[~on_device] >= 0).any())
    apart = np.unique(process, return_inverse=True)[1] if told else np.zeros(len(ids), dtype=np.int64)
    most = int(ids.max()) + 1
    key = np.where((ids >= 0) & (most < 1 << 40), apart.reshape(-1) * most + ids, ids)
    work, calls = np.flatnonzero(on_device), np.flatnonzero(~on_device & (ids >= 0))
    link = np.full(len(ids), -1, dtype=np.int64)
    if len(work) and len(calls):
        found = launched_by(key[work], start[work], key[calls], start[calls])
        link[work] = np.where(found >= 0, calls[found], -1)
    return link


def _versions(database: _Database, tables: set[str]) -> dict[str, str]:
    if "META_DATA_EXPORT" not in tables:
        return {}
    c = database.texts("META_DATA_EXPORT", ("name", "value"))
    wanted = {"EXPORT_PRODUCT_VERSION": "nsys", "EXPORT_SCHEMA_VERSION": "schema"}
    return {wanted[n]: str(v)[:40] for n, v in zip(c["name"], c["value"], strict=True) if n in wanted}


def _devices(database: _Database, tables: set[str], lanes: tuple[Lane, ...]) -> dict[str, DeviceFacts]:
    used = dict.fromkeys(lane.device for lane in lanes if lane.kind == "stream")
    if "TARGET_INFO_GPU" not in tables:
        return {device: DeviceFacts() for device in used}
    c = database.texts("TARGET_INFO_GPU", ("id", "name", "smCount", "totalMemory"))
    listed = {
        f"cuda:{i}": DeviceFacts(str(n) if n else None, number(sms), m if isinstance(m, int) and m > 0 else None)
        for i, n, sms, m in zip(c["id"], c["name"], c["smCount"], c["totalMemory"], strict=True)
    }
    alike = set(listed.values())
    either = alike.pop() if len(alike) == 1 else None
    return {device: listed.get(device) or either or DeviceFacts() for device in used}


def _shapes(database: _Database, strings: dict[int, str]) -> Shapes:
    sides = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
    c = database.numbers(_KERNEL, ("demangledName", "shortName", *sides))
    names, codes = _kernel_names(c, strings)
    blocks, threads = (np.prod([np.maximum(c[s], 0).astype(np.float64) for s in part], axis=0) for part in (sides[:3], sides[3:]))
    count = np.bincount(codes, weights=blocks > 0, minlength=len(names))
    means = (np.bincount(codes, weights=which, minlength=len(names)) for which in (blocks, threads))
    found = np.flatnonzero(count)
    return Shapes(*({names[i]: float(mean[i] / count[i]) for i in found.tolist()} for mean in means))
