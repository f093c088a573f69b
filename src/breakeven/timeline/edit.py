"""Pure edits of an OpStream: drop rows, put calls or rows in the place of others. What every what-if is made of.

A row that waited for a dropped row waits for the nearest row before it that is still there and runs on the device: the
host then sees as much of the queue finished as before, less what was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.timeline import schema
from breakeven.timeline.opstream import Call, OpStream, attributes

#: What the logical device's name begins with where an operation runs on the accelerator.
ACCELERATOR = "cuda"


def calls_of(stream: OpStream) -> tuple[Call, ...]:
    """The distinct calls as records, by position."""
    return tuple(
        Call(
            op=row[0], kind=row[1], device=row[2], inputs=_shapes(row[3]), input_dtypes=tuple(row[4]), parameters=tuple(row[5]),
            outputs=_shapes(row[6]), dtype=row[7], attributes=row[8],
        )
        for row in stream.calls.select([c.name for c in schema.CALLS]).iter_rows()
    )  # fmt: skip


def values_of(call: Call) -> dict[str, Any]:  # any JSON value
    """The attributes of a call, decoded.

    >>> values_of(Call("copy::h2d", "copy", "cuda:0", attributes='{"bytes":4}'))
    {'bytes': 4}
    """
    decoded: dict[str, Any] = msgspec.json.decode(call.attributes or "{}")  # any JSON value
    return decoded


def with_values(call: Call, **changed: Any) -> Call:  # any JSON value
    """The call with some attributes set."""
    return replace(call, attributes=attributes(**{**values_of(call), **changed}))


def with_calls(stream: OpStream, calls: Sequence[Call]) -> OpStream:
    """The stream with its distinct calls replaced one for one (calls that become equal are left as they are)."""
    if len(calls) != stream.calls.height:
        raise ValueError(f"{len(calls)} calls for a stream of {stream.calls.height}")
    return replace(stream, calls=_frame(calls))


def with_replaced(stream: OpStream, new: Mapping[int, Call]) -> OpStream:
    """The stream with the calls of some rows replaced (row number → new call); CPU times measured there are dropped."""
    if not new:
        return stream
    distinct: dict[Call, int] = {}
    height = stream.calls.height
    call = column(stream, schema.ROW_CALL).copy()
    for row, put in new.items():
        call[row] = height + distinct.setdefault(put, len(distinct))
    cpu = cpu_ns(stream).copy()
    cpu[list(new)] = np.nan
    rows = stream.rows.with_columns(pl.Series(schema.ROW_CALL.name, call, dtype=pl.Int32))
    return with_cpu(replace(stream, calls=pl.concat([stream.calls, _frame(list(distinct))]), rows=rows), cpu)


def with_mapped(stream: OpStream, rows: NDArray[np.bool_], change: Callable[[Call], Call]) -> OpStream:
    """The stream with the calls of these rows changed, each distinct call once; CPU times stay."""
    if not rows.any():
        return stream
    call = column(stream, schema.ROW_CALL)
    old = np.unique(call[rows])
    known = calls_of(stream)
    place = np.zeros(len(known), dtype=np.int64)
    place[old] = len(known) + np.arange(len(old))
    changed = pl.Series(schema.ROW_CALL.name, np.where(rows, place[call], call), dtype=pl.Int32)
    added = _frame([change(known[at]) for at in old])
    return replace(stream, calls=pl.concat([stream.calls, added]), rows=stream.rows.with_columns(changed))


def keep(stream: OpStream, kept: NDArray[np.bool_], *, carry_host: bool = True) -> OpStream:
    """The stream without the rows where `kept` is false.

    Args:
        stream: the stream.
        kept: one boolean per row.
        carry_host: Python before a dropped row still runs: its `host_ns` goes to the next row of the step that stays.
            False: it goes with the row.
    """
    if bool(kept.all()):
        return stream
    host = _carried(stream, kept) if carry_host else host_ns(stream)
    waits = moved_waits(stream, kept)
    rows = stream.rows.with_columns(
        pl.Series(schema.ROW_HOST.name, host, dtype=pl.Float64, nan_to_null=True).cast(pl.Int64),
        pl.Series(schema.ROW_WAITS.name, waits, dtype=pl.Int32),
    ).filter(pl.Series(kept))
    return replace(stream, rows=rows)


def with_host(stream: OpStream, host_ns: NDArray[np.float64]) -> OpStream:
    """The stream with other host times per row (nan: not measured)."""
    series = pl.Series(schema.ROW_HOST.name, host_ns, dtype=pl.Float64, nan_to_null=True).cast(pl.Int64)
    return replace(stream, rows=stream.rows.with_columns(series))


def with_cpu(stream: OpStream, cpu_ns: NDArray[np.float64]) -> OpStream:
    """The stream with other times on the CPU per row (nan: not measured)."""
    series = pl.Series(schema.ROW_CPU.name, cpu_ns, dtype=pl.Float64, nan_to_null=True).cast(pl.Int64)
    return replace(stream, rows=stream.rows.with_columns(series))


def with_waits(stream: OpStream, waits: NDArray[np.int64]) -> OpStream:
    """The stream with other rows to wait for (-1: none)."""
    return replace(stream, rows=stream.rows.with_columns(pl.Series(schema.ROW_WAITS.name, waits, dtype=pl.Int32)))


def column(stream: OpStream, which: schema.Column) -> NDArray[np.int64]:
    """A whole-number column of the rows as an array; null as -1."""
    return stream.rows[which.name].fill_null(-1).cast(pl.Int64).to_numpy()


def host_ns(stream: OpStream) -> NDArray[np.float64]:
    """Host time before each row, in ns; nan: not measured."""
    return stream.rows[schema.ROW_HOST.name].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def cpu_ns(stream: OpStream) -> NDArray[np.float64]:
    """Time of each row on the CPU, in ns; nan: not measured."""
    return stream.rows[schema.ROW_CPU.name].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def phases(stream: OpStream) -> NDArray[np.str_]:
    """Phase of each row."""
    return stream.rows[schema.ROW_PHASE.name].to_numpy().astype(np.str_)


def marked(stream: OpStream, of_call: Sequence[bool], sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows whose call is marked, at these sites (None: at any, and at none)."""
    call = column(stream, schema.ROW_CALL)
    mask: NDArray[np.bool_] = np.asarray(of_call, dtype=bool)[call] if len(of_call) else np.zeros(len(call), dtype=bool)
    if sites is not None:
        mask &= np.isin(column(stream, schema.ROW_SITE), list(sites))
    return mask


def on_device(call: Call) -> bool:
    """The call runs on the accelerator: a kernel, or a copy to or from it."""
    return call.kind in (schema.Kind.COMPUTE, schema.Kind.COPY) and call.device.startswith(ACCELERATOR)


def moved_waits(stream: OpStream, kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """`waits_for` of each row in the numbers of the rows that stay."""
    waits = column(stream, schema.ROW_WAITS)
    device = marked(stream, [on_device(call) for call in calls_of(stream)])
    numbers = np.cumsum(kept) - 1
    last = np.maximum.accumulate(np.where(kept & device, np.arange(len(kept)), -1))
    there = np.clip(waits, 0, None)
    target = np.where(kept[there], there, last[there]) if len(kept) else waits
    return np.where((waits < 0) | (target < 0), -1, numbers[np.clip(target, 0, None)])


def _carried(stream: OpStream, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Host times with those of dropped rows added to the next row that stays."""
    host = host_ns(stream)
    known = np.where(np.isnan(host), 0.0, host)
    total = np.cumsum(known)
    at = np.flatnonzero(kept)
    carried = host.copy()
    summed = np.diff(total[at], prepend=0.0)
    silent = np.isnan(host[at]) & (summed == 0)
    carried[at] = np.where(silent, np.nan, summed)
    return carried


def _frame(calls: Sequence[Call]) -> pl.DataFrame:
    columns = {column.name: [_lists(getattr(call, column.name)) for call in calls] for column in schema.CALLS}
    return pl.DataFrame(columns, schema={c.name: c.dtype for c in schema.CALLS})


def _lists(value: Any) -> Any:  # a call's field: text, or nested tuples
    return [_lists(v) for v in value] if isinstance(value, tuple) else value


def _shapes(value: Any) -> tuple[tuple[int, ...], ...]:  # what polars gives for a list of lists
    return tuple(tuple(shape) for shape in value)
