"""Both tables as Parquet files: one file per frame, and what is no column as JSON in the file's metadata."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import polars as pl

from breakeven.errors import InputError
from breakeven.timeline import schema
from breakeven.timeline.opstream import OpStream, Site
from breakeven.timeline.timeline import Lane, Origin, Timeline

_KEY: Final = "breakeven"
_T = TypeVar("_T")


class _TimelineHead(msgspec.Struct, frozen=True):
    """What of a Timeline is no column."""

    lanes: tuple[Lane, ...]
    origin: Origin
    sites: tuple[Site, ...]
    table: str = "timeline/1"


class _StreamHead(msgspec.Struct, frozen=True):
    """What of an OpStream is no column."""

    sites: tuple[Site, ...]
    steps: int
    unit: str
    batch: int | None
    warnings: tuple[str, ...]
    table: str = "opstream/1"


def timeline_to_parquet(timeline: Timeline, path: Path) -> None:
    """Write a timeline to one file."""
    _write(timeline.events, path, _TimelineHead(timeline.lanes, timeline.origin, timeline.sites))


def timeline_from_parquet(path: Path) -> Timeline:
    """Read a timeline; its invariants are checked again.

    Raises:
        InputError: the file is missing, or holds no timeline.
    """
    frame, head = _read(path, _TimelineHead, schema.EVENTS)
    try:
        return Timeline.from_columns(frame.to_dict(), lanes=head.lanes, origin=head.origin, sites=head.sites)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from error


def stream_to_parquet(stream: OpStream, calls: Path, rows: Path) -> None:
    """Write a stream to two files: its distinct calls, and its rows with what is no column."""
    _write(stream.calls, calls, _StreamHead((), 0, "", None, (), table="calls/1"))
    _write(stream.rows, rows, _StreamHead(stream.sites, stream.steps, stream.unit, stream.batch, stream.warnings))


def stream_from_parquet(calls: Path, rows: Path) -> OpStream:
    """Read a stream.

    Raises:
        InputError: a file is missing, or does not hold what it should.
    """
    known, _ = _read(calls, _StreamHead, schema.CALLS)
    order, head = _read(rows, _StreamHead, schema.ROWS)
    call = order[schema.ROW_CALL.name]
    if order.height and (int(call.min()) < 0 or int(call.max()) >= known.height):  # type: ignore[arg-type]  # whole numbers
        raise InputError(f"{rows}: refers to calls that {calls} does not hold; the two files belong to different runs")
    return OpStream(known, order, head.sites, head.steps, head.unit, head.batch, head.warnings)


def _write(frame: pl.DataFrame, path: Path, head: msgspec.Struct) -> None:
    frame.write_parquet(path, compression="zstd", metadata={_KEY: msgspec.json.encode(head).decode()})


def _read(path: Path, head: type[_T], columns: tuple[schema.Column, ...]) -> tuple[pl.DataFrame, _T]:
    try:
        said: dict[str, Any] = pl.read_parquet_metadata(path)  # every value is text
        frame = pl.read_parquet(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({str(error).splitlines()[0][:120]})") from error
    missing = [c.name for c in columns if c.name not in frame.columns]
    if _KEY not in said or missing:
        what = f"columns missing: {', '.join(missing)}" if missing else "it was not written by breakeven"
        raise InputError(f"{path}: not the table that was expected; {what}")
    try:
        decoded = msgspec.json.decode(said[_KEY], type=head)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: its description cannot be read ({error})") from error
    return frame.select(pl.col(c.name).cast(c.dtype) for c in columns), decoded
