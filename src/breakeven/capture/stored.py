"""The virtual pass on disk: its stream as Parquet, the rest as JSON; what the child writes and the parent reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from breakeven.capture import outcome
from breakeven.capture.request import ScriptEnd
from breakeven.capture.result import VirtualPass
from breakeven.capture.virtual.facts import Fact
from breakeven.timeline.opstream import OpStream, Site


@dataclass(frozen=True)
class StoredVirtual:
    """All of a `VirtualPass` but its tables."""

    end: ScriptEnd
    recorded: bool
    sites: tuple[Site, ...] = ()
    steps: int = 0
    unit: str = "step"
    batch: int | None = None
    stream_warnings: tuple[str, ...] = ()
    facts: Mapping[str, tuple[Fact, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    peak_rss_bytes: int | None = None
    device_rows: int = 0
    segments: tuple[int, ...] = ()


def parted(virtual: VirtualPass) -> tuple[StoredVirtual, tuple[pl.DataFrame, ...]]:
    """A virtual pass as a record that JSON can hold, and its tables: calls and rows, or none."""
    stream = virtual.stream
    stored = StoredVirtual(
        virtual.end, stream is not None, stream.sites if stream else (), stream.steps if stream else 0,
        stream.unit if stream else "step", stream.batch if stream else None, stream.warnings if stream else (),
        virtual.facts, virtual.warnings, virtual.peak_rss_bytes, virtual.device_rows, virtual.segments,
    )  # fmt: skip
    return stored, (stream.calls, stream.rows) if stream is not None else ()


def whole(stored: StoredVirtual, calls: pl.DataFrame | None, rows: pl.DataFrame | None) -> VirtualPass:
    """The virtual pass again."""
    stream = None
    if calls is not None and rows is not None:
        stream = OpStream(calls, rows, stored.sites, stored.steps, stored.unit, stored.batch, stored.stream_warnings)
    return VirtualPass(
        stream, stored.end, stored.facts, stored.warnings, stored.peak_rss_bytes, stored.device_rows, stored.segments
    )


def save_virtual(folder: str, virtual: VirtualPass) -> None:
    """Write a virtual pass; the tables first, so that whoever sees the JSON finds them."""
    stored, tables = parted(virtual)
    for name, table in zip((outcome.CALLS, outcome.ROWS), tables, strict=False):
        table.write_parquet(os.path.join(folder, name))
    outcome.write(folder, outcome.RESULT, stored)


def load_virtual(folder: Path) -> VirtualPass | None:
    """What a child left; None: nothing."""
    stored = outcome.read(folder, outcome.RESULT, StoredVirtual)
    if stored is None:
        return None
    if not stored.recorded:
        return whole(stored, None, None)
    return whole(stored, pl.read_parquet(folder / outcome.CALLS), pl.read_parquet(folder / outcome.ROWS))
