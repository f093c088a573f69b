"""Texts of a column as numbers: each distinct one is kept, and looked at, once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True)
class Coded:
    """A column of texts.

    Attributes:
        codes: of each row, a position in `values`; -1: none. Shape (n,).
        values: the distinct texts.
    """

    codes: NDArray[np.int32]
    values: tuple[str, ...]

    def among(self, *wanted: str) -> NDArray[np.bool_]:
        """Rows that hold one of these."""
        return self._rows([value in wanted for value in self.values])

    def containing(self, *parts: str) -> NDArray[np.bool_]:
        """Rows that hold one of these somewhere, in lower case or not; a pattern of alternatives takes ten times as long."""
        return self._rows(self.values_with(*parts))

    def values_with(self, *parts: str) -> list[bool]:
        """Whether each distinct text holds one of these."""
        whole, apart = self._lowered
        there = [part for part in parts if part in whole]
        return [any(part in text for part in there) for text in apart]

    @cached_property
    def _lowered(self) -> tuple[str, tuple[str, ...]]:
        """The distinct texts in lower case: together, and one by one."""
        apart = tuple(value.lower() for value in self.values)
        return "\n".join(apart), apart

    def matching(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Rows in which the pattern is found."""
        return self._rows([pattern.search(value) is not None for value in self.values])

    def _rows(self, holds: list[bool]) -> NDArray[np.bool_]:
        table = np.array([*holds, False], dtype=np.bool_)  # the last is for none, whose code is -1
        found: NDArray[np.bool_] = table[self.codes]
        return found


def in_use(column: Coded) -> Coded:
    """The same column without texts that no row has, the others in the order in which they first come."""
    return _numbered(column.codes, column.values)


def texts_of(column: Coded) -> pl.Series:
    """The texts of the rows; null: none."""
    if not len(column.codes) or column.codes.max() < 0:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(column.codes))
    return pl.Series([*column.values, None], dtype=pl.String)[np.where(column.codes < 0, len(column.values), column.codes)]


def _numbered(numbers: NDArray[np.int32], values: Sequence[str]) -> Coded:
    """Codes in the order in which they first come; below 0: none."""
    first = np.full(max(1, len(values)) + 1, -1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # -1 is the last place, which is for none
    used = np.flatnonzero(first[:-1] >= 0)
    used = used[np.argsort(first[used])]
    place = np.full(len(first), -1, dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    return Coded(place[numbers], tuple(values[i] for i in used.tolist()))


def coded(texts: pl.Series) -> Coded:
    """The column as numbers.

    >>> coded(pl.Series(["b", None, "a", "b"])).values
    ('b', 'a')
    """
    missing = texts.null_count()
    if missing == len(texts):
        return Coded(np.full(len(texts), -1, dtype=np.int32), ())
    known = texts.drop_nulls() if missing else texts
    numbers = known.cast(pl.Categorical).to_physical().to_numpy()  # of all texts that the process has seen
    first = np.full(int(numbers.max()) + 1, -1, dtype=np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    used = np.flatnonzero(first >= 0)
    used = used[np.argsort(first[used])]
    place = np.zeros(len(first), dtype=np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    codes = np.full(len(texts), -1, dtype=np.int32)
    codes[texts.is_not_null().to_numpy() if missing else slice(None)] = place[numbers]
    return Coded(codes, tuple(known[first[used]].to_list()))
