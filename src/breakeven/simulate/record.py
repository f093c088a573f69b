"""From a schedule to a Timeline: what the heap played, written down as events on lanes with links, sites and causes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.simulate.arrays import Ends, edges, ends
from breakeven.simulate.heap import Played, play
from breakeven.simulate.schedule import Engine, Ints, Schedule
from breakeven.timeline import Lane, Origin, Timeline, schema

#: Host operations that wait on the allocator of the device.
_MEMORY = ("host::empty_cache", "host::cuda_malloc", "host::cuda_free")
_INPUT = "host::input"
_ENGINE_NAMES = {Engine.H2D: "h2d", Engine.D2H: "d2h"}

#: Issues beyond which the heap takes seconds (about 10 µs each), and the array path is taken instead.
MOST_EVENTS: Final = 50_000

#: Lanes: the host's and the marks' come first.
_HOST, _MARKS = 0, 1


def run(schedule: Schedule) -> Timeline:
    """Play a schedule and write down what happened: by events, or a very long one by arrays, which give the same times.

    The host's lane holds one event per row of the stream, from where the host turned to it to where it was issued, and
    one per wait. Device work lies on the lane of its stream or copy engine and links to the host's event that launched
    it; a wait links to what it waited for. Marks of the steps lie on a lane of their own.
    """
    played = play(schedule) if len(schedule) <= MOST_EVENTS or schedule.loader is not None else _by_arrays(schedule)
    told = _told(schedule)
    lanes = [Lane("host", "cpu", "main"), Lane("host", "cpu", "steps")]
    host, row = _host_events(schedule, played, told)
    device, place = _device_events(schedule, played, told, row, lanes)
    place = np.where(place >= 0, place + host.height, -1)
    tables = [host, device, _waits(schedule, played, told, place), _steps(schedule, played), _batches(played, lanes)]
    sites = () if schedule.source is None else schedule.source.sites
    return Timeline.from_columns(
        {c.name: pl.concat([table[c.name] for table in tables]) for c in schema.EVENTS},
        lanes=lanes, origin=Origin("simulated"), sites=sites,
    )  # fmt: skip


def _by_arrays(schedule: Schedule) -> Played:
    found = ends(schedule)
    issued, ended, free = found.issued[:, 0], found.ended[:, 0], found.free[:, 0]
    return Played(issued, issued, ended - schedule.device_ns, ended, free)


def _table(height: int, columns: dict[schema.Column, pl.Series | Ints | Sequence[object] | object]) -> pl.DataFrame:
    """Events with these columns; the others at what the schema takes for not known."""
    missing = {schema.EVENT_LINK: -1, schema.EVENT_STEP: -1, schema.EVENT_SITE: -1}
    made = []
    for column in schema.EVENTS:
        value = columns.get(column, missing.get(column))
        if isinstance(value, pl.Series):
            made.append(value.alias(column.name).cast(column.dtype))
        elif isinstance(value, np.ndarray | list):
            made.append(pl.Series(column.name, value, dtype=column.dtype))
        else:
            made.append(pl.Series(column.name, [value], dtype=column.dtype).new_from_index(0, height))
    return pl.DataFrame(made)


def _either(which: NDArray[np.bool_], yes: str, no: str) -> pl.Series:
    return pl.select(pl.when(pl.Series(which)).then(pl.lit(yes)).otherwise(pl.lit(no))).to_series()


def _told(schedule: Schedule) -> pl.DataFrame:
    """Per issue what its row is: operation, kind, device, attributes, phase, site, and the limit of its kernels."""
    names = (schema.CALL_OP, schema.CALL_KIND, schema.CALL_DEVICE, schema.CALL_ATTRIBUTES, schema.ROW_PHASE, schema.ROW_SITE)
    limit = schema.EVENT_LIMIT.name
    if schedule.source is None:
        kinds = np.where(schedule.engine > 0, schema.Kind.COPY, schema.Kind.COMPUTE).tolist()
        values = ("operation", kinds, "cuda:0", "{}", schema.Phase.OTHER, -1)
        return pl.DataFrame({c.name: v for c, v in zip(names, values, strict=True)} | {limit: None}, height=len(schedule))
    calls = schedule.source.calls
    if schedule.limits is not None:
        calls = calls.with_columns(pl.Series(limit, schedule.limits.tolist(), dtype=pl.String))
    else:
        calls = calls.with_columns(pl.lit(None, dtype=pl.String).alias(limit))
    rows = schedule.source.rows[schedule.row.astype(np.int64)]
    per_call = calls.select([*(c.name for c in names[:4]), limit])[schedule.call.astype(np.int64)]
    return pl.concat([per_call, rows.select(c.name for c in names[4:])], how="horizontal").with_columns(
        pl.col(limit).replace("", None)
    )


def _host_events(schedule: Schedule, played: Played, told: pl.DataFrame) -> tuple[pl.DataFrame, Ints]:
    """One event per row on the host's lane, and for each issue which of these events its row is."""
    n = len(schedule)
    begins = np.ones(n, dtype=np.bool_)
    begins[1:] = (np.diff(schedule.row) != 0) | (np.diff(schedule.step) != 0)
    first = np.flatnonzero(begins)
    last = np.append(first[1:], n)[: len(first)] - 1
    start = np.where(first > 0, played.free[first - 1], 0)
    of_row = told[first]
    launches = np.maximum.reduceat(schedule.engine, first) >= 0 if n else np.zeros(0, dtype=np.bool_)
    is_input = of_row.select(
        (pl.col(schema.CALL_OP.name) == _INPUT) | (pl.col(schema.ROW_PHASE.name) == schema.Phase.INPUT)
    ).to_series()
    cause = pl.DataFrame({"input": is_input, "launch": launches}).select(
        pl.when(pl.col("input")).then(pl.lit("input"))
        .when(of_row[schema.CALL_OP.name].is_in(_MEMORY)).then(pl.lit("memory"))
        .otherwise(pl.lit("launch"))
    ).to_series()  # fmt: skip
    kind = _either(launches, schema.Kind.LAUNCH, schema.Kind.HOST)
    table = _table(len(first), {
        schema.EVENT_NAME: of_row[schema.CALL_OP.name], schema.EVENT_KIND: kind, schema.EVENT_LANE: _HOST,
        schema.EVENT_START: start, schema.EVENT_DURATION: played.issued[last] - start,
        schema.EVENT_STEP: schedule.step[first], schema.EVENT_PHASE: of_row[schema.ROW_PHASE.name],
        schema.EVENT_SITE: of_row[schema.ROW_SITE.name], schema.EVENT_CAUSE: cause,
    })  # fmt: skip
    return table, np.cumsum(begins) - 1


def _device_events(
    schedule: Schedule, played: Played, told: pl.DataFrame, row: Ints, lanes: list[Lane]
) -> tuple[pl.DataFrame, Ints]:
    """One event per issue that runs on a device, and for each issue its place among them (-1: none); adds their lanes."""
    at = np.flatnonzero(schedule.engine >= 0)
    mine = told[at]
    key = schedule.engine[at].astype(np.int64) * 65536 + np.where(schedule.engine[at] == Engine.STREAM, schedule.stream[at], 0)
    lane = np.zeros(len(at), dtype=np.int64)
    for value in np.unique(key):
        here = key == value
        device = str(mine[schema.CALL_DEVICE.name][int(np.argmax(here))])
        device = device if device != "cpu" else "cuda:0"  # a copy to the host is on the device's engine all the same
        engine, stream = divmod(int(value), 65536)
        known = (
            Lane("stream", device, f"stream {stream}") if engine == Engine.STREAM else Lane("copy", device, _ENGINE_NAMES[engine])
        )
        lanes.append(known)
        lane[here] = len(lanes) - 1
    table = _table(len(at), {
        schema.EVENT_NAME: mine[schema.CALL_OP.name],
        schema.EVENT_KIND: _either(schedule.engine[at] > 0, schema.Kind.COPY, schema.Kind.COMPUTE),
        schema.EVENT_LANE: lane, schema.EVENT_START: played.started[at],
        schema.EVENT_DURATION: played.ended[at] - played.started[at], schema.EVENT_LINK: row[at],
        schema.EVENT_STEP: schedule.step[at], schema.EVENT_PHASE: mine[schema.ROW_PHASE.name],
        schema.EVENT_SITE: mine[schema.ROW_SITE.name], schema.EVENT_LIMIT: mine[schema.EVENT_LIMIT.name],
        schema.EVENT_BYTES: mine[schema.CALL_ATTRIBUTES.name].str.extract(r'"bytes":(\d+)').cast(pl.Int64),
    })  # fmt: skip
    place = np.full(len(schedule), -1, dtype=np.int64)
    place[at] = np.arange(len(at))
    return table, place


def _waits(schedule: Schedule, played: Played, told: pl.DataFrame, place: Ints) -> pl.DataFrame:
    """The host's waits that took time; a blocking copy's is of kind copy, any other of kind sync."""
    at = np.flatnonzero((schedule.waits >= 0) & (played.free > played.issued))
    mine = told[at]
    copies = (schedule.waits[at] == at) & (schedule.engine[at] > 0)
    return _table(len(at), {
        schema.EVENT_NAME: mine[schema.CALL_OP.name],
        schema.EVENT_KIND: _either(copies, schema.Kind.COPY, schema.Kind.SYNC), schema.EVENT_LANE: _HOST,
        schema.EVENT_START: played.issued[at], schema.EVENT_DURATION: (played.free - played.issued)[at],
        schema.EVENT_LINK: np.where(copies, -1, place[schedule.waits[at]]), schema.EVENT_STEP: schedule.step[at],
        schema.EVENT_PHASE: mine[schema.ROW_PHASE.name], schema.EVENT_SITE: mine[schema.ROW_SITE.name],
    })  # fmt: skip


def _steps(schedule: Schedule, played: Played) -> pl.DataFrame:
    """Marks of the steps that count, from edge to edge."""
    one = Ends(played.issued[:, None], played.ended[:, None], played.free[:, None])
    at = np.concatenate([[0], edges(schedule, one)[:, 0]]) if len(schedule) else np.zeros(1, dtype=np.int64)
    steps = np.arange(schedule.skip, schedule.steps)
    return _table(len(steps), {
        schema.EVENT_NAME: [f"step {step}" for step in steps], schema.EVENT_KIND: schema.Kind.STEP,
        schema.EVENT_LANE: _MARKS, schema.EVENT_START: at[steps], schema.EVENT_DURATION: at[steps + 1] - at[steps],
        schema.EVENT_STEP: steps,
    })  # fmt: skip


def _batches(played: Played, lanes: list[Lane]) -> pl.DataFrame:
    """What the loader's workers did; adds their lanes."""
    made = np.array(played.batches, dtype=np.int64).reshape(-1, 3)
    first = len(lanes)
    lanes.extend(Lane("loader", "cpu", f"worker {worker}") for worker in range(int(made[:, 0].max(initial=-1)) + 1))
    return _table(len(made), {
        schema.EVENT_NAME: _INPUT, schema.EVENT_KIND: schema.Kind.HOST, schema.EVENT_LANE: made[:, 0] + first,
        schema.EVENT_START: made[:, 1], schema.EVENT_DURATION: made[:, 2] - made[:, 1],
        schema.EVENT_PHASE: schema.Phase.INPUT, schema.EVENT_CAUSE: "input",
    })  # fmt: skip
