"""What a sweep keeps of cells that are finished: timings as JSON, recordings and blocks of predicted cells as tables."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
import polars as pl

from breakeven.capture.result import VirtualPass
from breakeven.capture.stored import StoredVirtual, parted, whole
from breakeven.sweep.job import Recorded, Timed

_CALLS, _ROWS, _CELLS = "calls", "rows", "cells"


class Parts(Protocol):
    """Where finished parts are kept: a run of `breakeven.store`, or memory."""

    def has(self, key: str) -> bool:
        """Whether this part is finished."""

    def get(self, key: str) -> Any:  # JSON
        """A part's value."""

    def tables(self, key: str) -> dict[str, pl.DataFrame]:
        """A part's tables."""

    def put(self, key: str, value: Any = None, tables: Any = None) -> None:  # JSON
        """Keeps a part, all of it or nothing."""


class Memory:
    """Parts of a sweep that nobody asked to keep."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[Any, dict[str, pl.DataFrame]]] = {}

    def has(self, key: str) -> bool:
        """Whether this part is finished."""
        return key in self._parts

    def get(self, key: str) -> Any:  # JSON
        """A part's value."""
        return self._parts[key][0]

    def tables(self, key: str) -> dict[str, pl.DataFrame]:
        """A part's tables."""
        return self._parts[key][1]

    def put(self, key: str, value: Any = None, tables: Any = None) -> None:  # JSON
        """Keeps a part."""
        self._parts[key] = (value, dict(tables or {}))


def put_timed(parts: Parts, key: str, timed: Timed) -> None:
    """Keeps a cell's timing; one that failed too: it is not tried again."""
    parts.put(key, msgspec.to_builtins(timed))


def get_timed(parts: Parts, key: str) -> Timed:
    """A cell's timing."""
    return msgspec.convert(parts.get(key), Timed, strict=False)


def put_recorded(parts: Parts, key: str, recorded: Recorded) -> None:
    """Keeps a cell's recording."""
    if recorded.virtual is None:
        parts.put(key, {"error": recorded.error})
        return
    stored, tables = parted(recorded.virtual)
    parts.put(key, {"virtual": msgspec.to_builtins(stored)}, dict(zip((_CALLS, _ROWS), tables, strict=False)))


def get_recorded(parts: Parts, key: str) -> Recorded:
    """A cell's recording."""
    said = parts.get(key)
    if "virtual" not in said:
        return Recorded(None, said.get("error"))
    tables = parts.tables(key)
    stored = msgspec.convert(said["virtual"], StoredVirtual, strict=False)
    virtual: VirtualPass = whole(stored, tables.get(_CALLS), tables.get(_ROWS))
    return Recorded(virtual)


def put_block(parts: Parts, key: str, cells: pl.DataFrame) -> None:
    """Keeps a block of predicted cells."""
    parts.put(key, {"cells": cells.height}, {_CELLS: cells})


def get_block(parts: Parts, key: str) -> pl.DataFrame:
    """A block of predicted cells."""
    return parts.tables(key)[_CELLS]
