"""Texts of a column as numbers: each distinct one is kept, and looked at, once."""

from __future__ import annotations

import re
from dataclasses import dataclass

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

    def matching(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Rows in which the pattern is found."""
        return self._rows([pattern.search(value) is not None for value in self.values])

    def _rows(self, holds: list[bool]) -> NDArray[np.bool_]:
        table = np.array([*holds, False], dtype=np.bool_)  # the last is for none, whose code is -1
        found: NDArray[np.bool_] = table[self.codes]
        return found


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
