"""Sets of intervals against counting nanosecond by nanosecond."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.timeline.intervals import Intervals, first_owner, gaps, intersection, piece_of, sums, union

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10)), max_size=12)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]  # of whole numbers
    start = np.array([a for a, _ in pairs], dtype=np.int64)
    return start, start + np.array([b for _, b in pairs], dtype=np.int64)


def points(start: np.ndarray, end: np.ndarray) -> set[int]:  # type: ignore[type-arg]
    return {t for a, b in zip(start.tolist(), end.tolist(), strict=True) for t in range(a, b)}


def of(found: Intervals) -> set[int]:
    assert (found.start[1:] > found.end[:-1]).all(), "in order, and never touching"
    return points(found.start, found.end)


@given(PAIRS)
@settings(deadline=None)
def test_a_union_holds_what_any_interval_holds(pairs: list[tuple[int, int]]) -> None:
    start, end = arrays(pairs)
    assert of(union(start, end)) == points(start, end)


@given(PAIRS, st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None)
def test_gaps_hold_the_rest(pairs: list[tuple[int, int]], low: int, length: int) -> None:
    busy = union(*arrays(pairs))
    assert of(gaps(busy, low, low + length)) == set(range(low, low + length)) - of(busy)


@given(PAIRS, PAIRS)
@settings(deadline=None)
def test_an_intersection_holds_what_both_hold(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    first, second = union(*arrays(a)), union(*arrays(b))
    assert of(intersection(first, second)) == of(first) & of(second)


@given(PAIRS, st.integers(0, 2**31))
@settings(deadline=None)
def test_each_instant_goes_to_the_lowest_rank_over_it(pairs: list[tuple[int, int]], seed: int) -> None:
    start, end = arrays(pairs)
    rank = np.random.default_rng(seed).integers(0, 3, len(start))
    pieces, owner = first_owner(start, end, rank, 3)
    for r in range(3):
        mine = points(start[rank == r], end[rank == r])
        better = points(start[rank < r], end[rank < r])
        assert points(pieces.start[owner == r], pieces.end[owner == r]) == mine - better


@given(PAIRS, PAIRS)
@settings(deadline=None)
def test_sums_count_what_lies_in_each_window(pairs: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    pieces = union(*arrays(pairs))
    low, high = arrays(windows)
    expect = [len(of(pieces) & set(range(a, b))) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    assert sums(pieces, low, high).tolist() == expect


@given(PAIRS)
@settings(deadline=None)
def test_a_time_lies_in_the_piece_that_holds_it_and_else_in_none(pairs: list[tuple[int, int]]) -> None:
    pieces, times = union(*arrays(pairs)), range(52)
    found = piece_of(pieces, np.array(times)).tolist()
    spans = [range(a, b) for a, b in zip(pieces.start.tolist(), pieces.end.tolist(), strict=True)]
    assert found == [next((i for i, span in enumerate(spans) if t in span), -1) for t in times]
