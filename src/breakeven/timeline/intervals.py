"""Sets of intervals as sorted arrays: unions, gaps, overlap, and sums inside windows. Half-open, whole nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Intervals:
    """Disjoint intervals in order; `start` and `end` in ns, shape (n,)."""

    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.start)

    @property
    def total_ns(self) -> int:
        """Sum of the lengths."""
        return int((self.end - self.start).sum())


def distinct(values: Ints) -> Ints:
    """The distinct values in order (numpy's own `unique` hashes whole numbers, and is ten times slower on millions)."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def union(start: Ints, end: Ints) -> Intervals:
    """The union of intervals given in any order; those that touch become one, empty ones vanish.

    >>> union(np.array([0, 3, 10]), np.array([5, 8, 12]))
    Intervals(start=array([ 0, 10]), end=array([ 8, 12]))
    """
    real = end > start
    by_start = np.argsort(start[real], kind="stable")
    begins, ends = start[real][by_start], end[real][by_start]
    if not len(begins):
        return Intervals(begins.astype(np.int64), ends.astype(np.int64))
    reach = np.maximum.accumulate(ends)
    first = np.flatnonzero(np.concatenate([[True], begins[1:] > reach[:-1]]))
    last = np.append(first[1:] - 1, len(begins) - 1)
    return Intervals(begins[first].astype(np.int64), reach[last].astype(np.int64))


def gaps(busy: Intervals, low: int, high: int) -> Intervals:
    """What is left of [low, high) between disjoint intervals."""
    start = np.concatenate([[low], np.clip(busy.end, low, high)])
    end = np.concatenate([np.clip(busy.start, low, high), [high]])
    real = end > start
    return Intervals(start[real], end[real])


def intersection(a: Intervals, b: Intervals) -> Intervals:
    """Where both hold."""
    low = min((int(x.start[0]) for x in (a, b) if len(x)), default=0)
    high = max((int(x.end[-1]) for x in (a, b) if len(x)), default=0)
    outside = union(
        *(
            np.concatenate(part)
            for part in zip(*((g.start, g.end) for g in (gaps(a, low, high), gaps(b, low, high))), strict=True)
        )
    )
    return gaps(outside, low, high)


def first_owner(start: Ints, end: Ints, rank: Ints, ranks: int) -> tuple[Intervals, Ints]:
    """Divide the union of intervals among their ranks: each instant goes to the lowest rank that covers it.

    Args:
        start: ns, shape (n,).
        end: ns, shape (n,).
        rank: shape (n,), from 0 to ranks - 1; 0 wins over all.
        ranks: how many there are.

    Returns:
        Disjoint pieces in order, and the rank that owns each.
    """
    edges = distinct(np.concatenate([start, end]))
    owner = np.full(max(len(edges) - 1, 0), ranks, dtype=np.int64)
    for r in reversed(range(ranks)):
        mine = union(start[rank == r], end[rank == r])
        change = np.zeros(len(edges), dtype=np.int8)
        change[np.searchsorted(edges, mine.start)] += 1
        change[np.searchsorted(edges, mine.end)] -= 1
        owner[np.cumsum(change)[:-1] > 0] = r
    real = owner < ranks
    return Intervals(edges[:-1][real], edges[1:][real]), owner[real]


def sums(pieces: Intervals, low: Ints, high: Ints) -> Ints:
    """Nanoseconds of disjoint pieces within each window [low, high); windows may overlap. Shape of `low`."""
    return before(pieces, high) - before(pieces, low)


def piece_of(pieces: Intervals, time: Ints) -> Ints:
    """Position of the piece that each time lies in; -1: none. Shape of `time`."""
    at = np.searchsorted(pieces.start, time, side="right") - 1
    if not len(pieces):
        return at
    found: Ints = np.where(time < pieces.end[np.maximum(at, 0)], at, -1)
    return found


def before(pieces: Intervals, time: Ints) -> Ints:
    """Nanoseconds of disjoint pieces before each time."""
    if not len(pieces):
        return np.zeros(len(time), dtype=np.int64)
    total = np.concatenate([[0], np.cumsum(pieces.end - pieces.start)])
    at = np.searchsorted(pieces.start, time, side="right")
    over = np.maximum(pieces.end[np.maximum(at - 1, 0)] - time, 0)
    spent: Ints = total[at] - np.where(at > 0, over, 0)
    return spent
