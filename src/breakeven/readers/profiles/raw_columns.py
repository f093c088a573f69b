"""Decoded events as columns: names, categories and lanes as codes, times as numbers; one part per batch, joined at the end."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from breakeven.readers.profiles.json_events import Arguments, Event
from breakeven.readers.profiles.numbers import whole
from breakeven.timeline.intervals import Ints

Floats = NDArray[np.float64]

#: Events with a length; the others are flow arrows, counters and names, and no table needs them.
_COMPLETE: Final = "X"
_METADATA: Final = "M"
_Key = TypeVar("_Key", bound=Hashable)
_NO_ARGUMENTS: Final = Arguments()


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
        arguments: of the events in `argued` (positions, in order), as decoded.
        labels: names that metadata give to processes and threads: (kind of name, process, thread, name).
    """

    names: tuple[str, ...]
    categories: tuple[str, ...]
    lanes: tuple[tuple[int | str | None, int | str | None], ...]
    name: Ints
    category: Ints
    lane: Ints
    ts: Floats
    dur: Floats
    correlation: Ints
    device: Ints
    stream: Ints
    bytes: Ints
    step: Ints
    hlo: Ints
    argued: Ints
    arguments: tuple[Arguments, ...]
    labels: tuple[tuple[str, int | str | None, int | str | None, str], ...]


@dataclass
class RawCollector:
    """Takes batches of events; `columns` joins them.

    Attributes:
        with_arguments: categories whose events' arguments are kept (grid, block, occupancy), in lower case.
    """

    with_arguments: frozenset[str] = frozenset()
    _names: dict[str, int] = field(default_factory=dict)
    _categories: dict[str, int] = field(default_factory=dict)
    _lanes: dict[tuple[int | str | None, int | str | None], int] = field(default_factory=dict)
    _parts: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    _arguments: list[Arguments] = field(default_factory=list)
    _labels: list[tuple[str, int | str | None, int | str | None, str]] = field(default_factory=list)
    _count: int = 0

    def take(self, batch: list[Event]) -> None:
        """Add the complete events of a batch, and the names that metadata give."""
        events = [e for e in batch if e.ph == _COMPLETE]
        if len(events) < len(batch):
            self._labels += [
                (e.name, e.pid, e.tid, e.args.name) for e in batch if e.ph == _METADATA and e.args is not None and e.args.name
            ]
        if not events:
            return
        category = _codes([e.cat for e in events], self._categories)
        arguments = [_NO_ARGUMENTS if e.args is None else e.args for e in events]
        kept = np.array([c.lower() in self.with_arguments for c in self._categories])[category]
        argued = np.flatnonzero(kept)
        self._arguments += [arguments[i] for i in argued.tolist()]
        self._parts.append((
            _codes([e.name for e in events], self._names), category, _codes([(e.pid, e.tid) for e in events], self._lanes),
            np.array([e.ts for e in events], dtype=np.float64), np.array([e.dur for e in events], dtype=np.float64),
            whole([a.correlation for a in arguments]), whole([a.device for a in arguments]),
            whole([a.stream for a in arguments]), whole([a.bytes for a in arguments]), whole([a.step_num for a in arguments]),
            np.array([a.hlo_op is not None for a in arguments], dtype=np.int64), argued + self._count,
        ))  # fmt: skip
        self._count += len(events)

    def columns(self) -> RawColumns:
        """All of it."""
        if self._parts:
            joined = [np.concatenate(column) for column in zip(*self._parts, strict=True)]
        else:
            joined = [np.zeros(0, dtype=np.float64 if i in (3, 4) else np.int64) for i in range(12)]
        name, category, lane, ts, dur, correlation, device, stream, bytes_, step, hlo, argued = joined
        return RawColumns(
            names=tuple(self._names), categories=tuple(self._categories), lanes=tuple(self._lanes), name=name, category=category,
            lane=lane, ts=ts, dur=dur, correlation=correlation, device=device, stream=stream, bytes=bytes_, step=step, hlo=hlo,
            argued=argued, arguments=tuple(self._arguments), labels=tuple(self._labels),
        )  # fmt: skip


def _codes(values: Sequence[_Key], known: dict[_Key, int]) -> Ints:
    """Each value's number among the distinct ones; new ones are added."""
    for value in dict.fromkeys(values):
        known.setdefault(value, len(known))
    return np.fromiter(map(known.__getitem__, values), dtype=np.int64, count=len(values))
