"""Decoded events as columns: names, categories and lanes as codes, times as numbers; one part per batch, joined at the end."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from math import prod
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from breakeven.readers.profiles.event_records import Arguments, Entry, Event, Label, Number
from breakeven.readers.profiles.numbers import whole
from breakeven.timeline.intervals import Ints

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
_Lane = tuple[int | str | None, int | str | None]

#: More blocks or threads than any launch has (CUDA: 2^31 by 2^16 by 2^16 blocks).
_MOST: Final = 1 << 63
#: Events that are held as they were decoded, until columns are made of them: what a few blocks of the text hold.
_MOST_ROWS: Final = 1 << 15
_Key = TypeVar("_Key", bound=Hashable)
#: Categories of events on a device, in lower case.
_ON_DEVICE: Final = frozenset({"kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"})


class _Numbers(dict[_Key, int]):
    """Distinct values and their numbers; a new one gets the next."""

    def __missing__(self, value: _Key) -> int:
        number = self[value] = len(self)
        return number


@dataclass(frozen=True)
class RawColumns:
    """Complete events of one trace, in the order of the file. Shape (n,) each.

    Attributes:
        names: distinct names; `name` points into them. So `categories` and `lanes` (process, thread).
        ts: start in microseconds; NaN: none.
        dur: length in microseconds; NaN: none.
        correlation: id that a call and its device work share; -1: none. So `device`, `stream` and `bytes`.
        step: number of a step mark (`step_num`); -1: none.
        hlo: 1 where it names an operation of XLA.
        argued: positions, in order, of the kernels whose launch is known.
        blocks: thread blocks of each of those; NaN: not said. So `threads` in a block, and `occupancy`, per cent.
        labels: names that metadata give to processes and threads: (kind of name, process, thread, name).
    """

    names: tuple[str, ...]
    categories: tuple[str, ...]
    lanes: tuple[_Lane, ...]
    name: Codes
    category: Codes
    lane: Codes
    ts: Floats
    dur: Floats
    correlation: Ints
    device: Codes
    stream: Ints
    bytes: Ints
    step: Ints
    hlo: NDArray[np.int8]
    argued: Ints
    blocks: Floats
    threads: Floats
    occupancy: Floats
    labels: tuple[tuple[str, int | str | None, int | str | None, str], ...]


@dataclass
class _Rows:
    """Events that are not columns yet, a list for each field."""

    name: list[int] = field(default_factory=list)
    category: list[int] = field(default_factory=list)
    lane: list[int] = field(default_factory=list)
    ts: list[float | None] = field(default_factory=list)
    dur: list[float | None] = field(default_factory=list)
    args: list[Arguments] = field(default_factory=list)


@dataclass
class RawCollector:
    """Takes batches of events; `columns` joins them.

    Attributes:
        with_arguments: categories of which it is kept how their kernels were launched, in lower case.
    """

    with_arguments: frozenset[str] = frozenset()
    _names: _Numbers[str] = field(default_factory=_Numbers)
    _categories: _Numbers[str] = field(default_factory=_Numbers)
    _lanes: _Numbers[_Lane] = field(default_factory=_Numbers)
    _parts: list[tuple[NDArray[Any], ...]] = field(default_factory=list)  # a part's columns, of several types
    _labels: list[tuple[str, int | str | None, int | str | None, str]] = field(default_factory=list)
    _rows: _Rows = field(default_factory=_Rows)
    _count: int = 0

    def take(self, batch: Sequence[Entry]) -> None:
        """Add the events of a batch that have a length, and the names that metadata give."""
        events = [e for e in batch if type(e) is Event]
        if len(events) < len(batch):
            self._labels += [(e.name, e.pid, e.tid, e.args.name) for e in batch if type(e) is Label and e.args.name]
        names, categories, lanes, rows = self._names, self._categories, self._lanes, self._rows
        rows.name += [names[e.name] for e in events]
        rows.category += [categories[e.cat] for e in events]
        rows.lane += [lanes[e.pid, e.tid] for e in events]
        rows.ts += [e.ts for e in events]
        rows.dur += [e.dur for e in events]
        rows.args += [e.args for e in events]
        if len(rows.name) > _MOST_ROWS:
            self._join()

    def _join(self) -> None:
        """Make columns of the rows."""
        rows, self._rows = self._rows, _Rows()
        category = np.array(rows.category, dtype=np.int32)
        self._parts.append((
            np.array(rows.name, dtype=np.int32), category, np.array(rows.lane, dtype=np.int32),
            np.array(rows.ts, dtype=np.float64), np.array(rows.dur, dtype=np.float64), *self._argued(rows.args, category),
        ))  # fmt: skip
        self._count += len(category)

    def _argued(self, args: list[Arguments], category: Codes) -> tuple[NDArray[Any], ...]:
        """Columns that come from the arguments, which only some categories have."""
        asked = [c.lower() for c in self._categories]
        plain, calls, on_device, kept = (
            np.array(has, dtype=np.bool_)[category]
            for has in (
                [c == "" for c in asked], [c.endswith(("runtime", "driver")) for c in asked], [c in _ON_DEVICE for c in asked],
                [c in self.with_arguments for c in asked],
            )
        )  # fmt: skip
        correlation, device, stream, bytes_, step = (np.full(len(args), -1, dtype=np.int64) for _ in range(5))
        hlo = np.zeros(len(args), dtype=np.int8)
        correlation[calls] = whole([a.correlation for a in compress(args, calls.tolist())])
        which = np.flatnonzero(plain | on_device)
        told = [args[i] for i in which.tolist()]
        correlation[which] = whole([a.correlation for a in told])
        device[which] = whole([a.device for a in told])
        stream[which] = whole([a.stream for a in told])
        bytes_[which] = whole([a.bytes for a in told])
        if plain.any():
            step[which] = whole([a.step_num for a in told])
            hlo[which] = [a.hlo_op is not None for a in told]
        launched = list(compress(told, kept[which].tolist()))
        return (
            correlation, device, stream, bytes_, step, hlo, which[kept[which]] + self._count,
            _products([a.grid for a in launched]), _products([a.block for a in launched]),
            _percents([a.occupancy for a in launched]),
        )  # fmt: skip

    def columns(self) -> RawColumns:
        """All of it; the collector is empty afterwards."""
        self._join()
        parts, self._parts = self._parts, []
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        name, category, lane, ts, dur, correlation, device, stream, bytes_, step, hlo, argued, blocks, threads, occupancy = joined
        return RawColumns(
            names=tuple(self._names), categories=tuple(self._categories), lanes=tuple(self._lanes), name=name, category=category,
            lane=lane, ts=ts, dur=dur, correlation=correlation, device=device, stream=stream, bytes=bytes_, step=step, hlo=hlo,
            argued=argued, blocks=blocks, threads=threads, occupancy=occupancy, labels=tuple(self._labels),
        )  # fmt: skip


def _percents(values: list[Number]) -> Floats:
    """Numbers from 0 to 100; NaN for all others."""
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.array([v if isinstance(v, int | float) and 0 <= v <= 100 else np.nan for v in values], dtype=np.float64)
    return np.where((found >= 0) & (found <= 100), found, np.nan)


def _products(sides: list[list[int] | None]) -> Floats:
    """Product of up to three sides each; NaN where there are none, or none that a device could have."""
    try:
        found = np.array([s[0] * s[1] * s[2] if s is not None else 0 for s in sides], dtype=np.int64)
    except (IndexError, OverflowError):
        found = np.array([p if s and 0 < (p := prod(s[:3])) < _MOST else 0 for s in sides], dtype=np.int64)
    return np.where(found > 0, found, np.nan)
