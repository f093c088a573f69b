"""Decoded events as columns: names, categories and lanes as codes, times as numbers; one part per batch, joined at the end."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from breakeven.readers.profiles.json_events import Arguments, Event, Number
from breakeven.readers.profiles.numbers import whole
from breakeven.timeline.intervals import Ints

Floats = NDArray[np.float64]

#: Events with a length; the others are flow arrows, counters and names, and no table needs them.
_COMPLETE: Final = "X"
_METADATA: Final = "M"
_Key = TypeVar("_Key", bound=Hashable)
_NO_ARGUMENTS: Final = Arguments()
#: Categories of events on a device, in lower case.
_ON_DEVICE: Final = frozenset({"kernel", "gpu_memcpy", "memcpy", "gpu_memset", "memset"})
_CORRELATION, _DEVICE, _STREAM, _BYTES, _STEP = (
    attrgetter(name) for name in ("correlation", "device", "stream", "bytes", "step_num")
)


def _hlo(arguments: Arguments) -> int:
    return int(arguments.hlo_op is not None)


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
        lists = {which: self._of(which, category).tolist() for which in ("ids", "device", "plain", "kept")}
        self._arguments += [events[i].args or _NO_ARGUMENTS for i in lists["kept"]]
        self._parts.append((
            _codes([e.name for e in events], self._names), category, _codes([(e.pid, e.tid) for e in events], self._lanes),
            np.array([e.ts for e in events], dtype=np.float64), np.array([e.dur for e in events], dtype=np.float64),
            *(
                _taken(events, lists[which], get)
                for which, get in (
                    ("ids", _CORRELATION), ("device", _DEVICE), ("device", _STREAM), ("device", _BYTES), ("plain", _STEP),
                    ("plain", _hlo),
                )
            ),
            np.array(lists["kept"], dtype=np.int64) + self._count,
        ))  # fmt: skip
        self._count += len(events)

    def _of(self, which: str, category: Ints) -> Ints:
        """Positions of the events whose category has some of the arguments."""
        asked = [c.lower() for c in self._categories]
        has = {
            "ids": [c == "" or c.endswith(("runtime", "driver")) or c in _ON_DEVICE for c in asked],
            "device": [c == "" or c in _ON_DEVICE for c in asked], "plain": [c == "" for c in asked],
            "kept": [c in self.with_arguments for c in asked],
        }[which]  # fmt: skip
        return np.flatnonzero(np.array(has)[category])

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
    try:  # after the first batches there is hardly a new one
        return np.fromiter(map(known.__getitem__, values), dtype=np.int64, count=len(values))
    except KeyError:
        for value in values:
            known.setdefault(value, len(known))
        return np.fromiter(map(known.__getitem__, values), dtype=np.int64, count=len(values))


def _taken(events: Sequence[Event], which: Sequence[int], get: Callable[[Arguments], Number]) -> Ints:
    """One argument of some of the events; -1 elsewhere."""
    out = np.full(len(events), -1, dtype=np.int64)
    if which:
        out[which] = whole([get(events[i].args or _NO_ARGUMENTS) for i in which])
    return out
