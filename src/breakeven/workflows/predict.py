"""Prices a file of operations: CSV or Parquet in and out, in batches, so that memory stays bounded whatever its length."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from breakeven.costs.price import ADDED, MID, NOTE, price
from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Gpu

#: Rows that are read, priced and written at once.
BATCH_ROWS = 200_000
_PARQUET = (".parquet", ".pq")
_TYPES = (pl.Float64, pl.Float64, pl.Float64, pl.String, pl.String)
_SHOWN_REASONS = 5
_ROWS = ""


@dataclass(frozen=True)
class Predicted:
    """What became of a file.

    Attributes:
        rows: how many it holds.
        unpriced: how many of them got no price.
        reasons: why not, the most frequent first, with their number of rows.
    """

    rows: int
    unpriced: int
    reasons: tuple[tuple[str, int], ...]


def predict(path: Path, gpu: str | None = None, out: Path | None = None) -> Predicted:
    """Price every row of `path` and write the same rows, in order, with the prices added.

    Args:
        path: CSV, or Parquet by its suffix (`.parquet`, `.pq`); the vocabulary is on docs/predict.md.
        gpu: device of the rows that name none in a column `gpu`.
        out: where to; Parquet by its suffix, else CSV. It is written whole or not at all. None: nothing is written.

    Raises:
        InputError: the file cannot be read, has no column `op`, or `out` cannot be written.
        UnknownDevice: no device is called `gpu`. (A row's own unknown device only leaves that row without a price.)
    """
    device = find_gpu(gpu) if gpu is not None else None
    rows = _read(path)
    columns = rows.collect_schema()
    if "op" not in columns:
        raise InputError(f"{path} has no column `op`: it has {', '.join(columns) or 'none'}")
    schema = {c: t for c, t in columns.items() if c not in ADDED} | dict(zip(ADDED, _TYPES, strict=True))
    tally: Counter[str] = Counter()
    batches = _priced(rows, device, tally)
    try:
        if out is None:
            for _ in batches:
                pass
        else:
            _write(batches, pl.Schema(schema), out)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).strip().splitlines()[0]}") from error
    total = tally.pop(_ROWS, 0)
    return Predicted(total, sum(tally.values()), tuple(tally.most_common(_SHOWN_REASONS)))


def summary(done: Predicted) -> str:
    """The outcome as JSON (schema `breakeven/predict/1`)."""
    reasons = [{"reason": reason, "rows": count} for reason, count in done.reasons]
    return json.dumps(
        {"schema": "breakeven/predict/1", "rows": done.rows, "unpriced": done.unpriced, "reasons": reasons}, indent=2
    )


def _read(path: Path) -> pl.LazyFrame:
    """The file, not yet read. CSV cells stay text, so that columns which no price needs come back as they were."""
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    try:
        rows = pl.scan_parquet(path) if path.suffix.lower() in _PARQUET else pl.scan_csv(path, infer_schema=False)
        rows.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} cannot be read as a table: {str(error).strip().splitlines()[0]}") from error
    return rows


def _priced(rows: pl.LazyFrame, device: Gpu | None, tally: Counter[str]) -> Iterator[pl.DataFrame]:
    """The priced batches in order; `tally` counts the rows, and those without a price by their reason."""
    for batch in rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
        done = price(batch, device)
        tally[_ROWS] += done.height
        for reason, count in done.filter(pl.col(MID).is_null()).group_by(NOTE).len().iter_rows():
            tally[str(reason)] += count
        yield done


def _write(batches: Iterator[pl.DataFrame], schema: pl.Schema, out: Path) -> None:
    """Write the batches beside `out` and put them in its place when all is there."""
    try:
        handle, name = tempfile.mkstemp(prefix=f".{out.name}.", dir=out.resolve().parent)
    except OSError as error:
        raise InputError(f"{out} cannot be written: {error.strerror}") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            if out.suffix.lower() in _PARQUET:
                register_io_source(lambda *_: batches, schema=schema, is_pure=False).sink_parquet(file)
            else:
                pl.DataFrame(schema=schema).write_csv(file)
                for batch in batches:
                    batch.write_csv(file, include_header=False)
        part.chmod(0o666 & ~_umask())
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    """The process's file mode mask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
