"""Passes that mend imported events: each says what it changed, and a sound trace is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.timeline import Lane, Origin, Timeline, repaired, schema

HOST, STREAM = Lane("host", "cpu", "main"), Lane("stream", "cuda:0", "stream 0")
START, LENGTH, LANE = schema.EVENT_START.name, schema.EVENT_DURATION.name, schema.EVENT_LANE.name
LINK, KIND = schema.EVENT_LINK.name, schema.EVENT_KIND.name


def mend(**columns: object) -> tuple[Timeline, list[str]]:
    made, report = repaired(columns, lanes=[HOST, STREAM], origin=Origin("imported"))
    return made, [repair.sentence() for repair in report]


def test_a_sound_trace_is_left_alone_but_for_its_origin() -> None:
    made, report = mend(**{START: [100, 105], LENGTH: [20, 5]})
    assert (made.events[START].to_list(), report) == ([0, 5], [])


def test_fractions_are_rounded_at_both_ends_and_unusable_events_dropped_with_their_links() -> None:
    made, report = mend(**{
        START: [0.4, 10.6, float("nan"), 20.0, float("inf"), 30.0], LENGTH: [5.2, 5.2, 1.0, -3.0, 1.0, 1.0],
        LINK: [-1, 0, 0, 1, 0, 2],
    })  # fmt: skip
    assert made.events[START].to_list() == [0, 11, 30]
    assert made.events[LENGTH].to_list() == [6, 5, 1]
    assert made.events[LINK].to_list() == [-1, 0, -1]
    assert report == ["3 events without a usable start and length dropped (whole_times)"]


def test_a_child_that_outlives_its_parent_by_a_rounding_is_cut() -> None:
    made, report = mend(**{START: [0, 500], LENGTH: [1000, 900]})
    assert made.events[LENGTH].to_list() == [1000, 500]
    assert report == ["1 event cut to the end of the event they lie in (nest)"]


def test_an_event_that_crosses_others_moves_to_a_lane_beside() -> None:
    made, report = mend(**{START: [0, 500, 600], LENGTH: [1000, 90_000, 10]})
    assert made.lanes[2] == Lane("host", "cpu", "main (overlapping)")
    assert made.events[LANE].to_list() == [0, 2, 0]
    assert report == ["1 event that cross others moved to a lane beside (nest)"]


def test_a_device_whose_clock_is_early_is_moved_after_its_launches() -> None:
    n = 2000
    start = np.concatenate([np.arange(n) * 1000, np.arange(n) * 1000 - 300])
    start[n] -= 10_000_000  # one that is wrong by more than any drift
    made, report = mend(**{
        START: start, LENGTH: np.full(2 * n, 100), LANE: np.repeat([0, 1], n), KIND: ["launch"] * n + ["compute"] * n,
        LINK: np.concatenate([np.full(n, -1), np.arange(n)]),
    })  # fmt: skip
    assert "2000 events of cuda:0 moved 300 ns later, after their launches (align_clocks)" in report
    assert "1 event started before what caused them: link cut (forward_links)" in report
    assert (made.events[LINK] >= 0).sum() == n - 1


@pytest.mark.parametrize("link", [5, -7])
def test_links_to_nowhere_are_cut(link: int) -> None:
    made, report = mend(**{START: [0, 5], LENGTH: [1, 1], LINK: [-1, link]})
    assert made.events[LINK].to_list() == [-1, -1]
    assert report == ["1 event linked to what is not there: link cut (known_links)"]


@given(st.lists(st.tuples(st.integers(-50, 5000), st.integers(-3, 4000), st.integers(0, 1), st.integers(-2, 9)), max_size=12))
@settings(deadline=None, max_examples=100)
def test_whatever_comes_in_a_timeline_comes_out_and_mending_it_again_changes_nothing(events: list[tuple[int, ...]]) -> None:
    start, length, lane, link = (list(column) for column in zip(*events, strict=True)) if events else ([], [], [], [])
    made, _ = mend(**{START: start, LENGTH: length, LANE: lane, LINK: link})
    again, report = repaired(made.events.to_dict(), lanes=made.lanes, origin=made.origin)
    assert report == ()
    assert again.events.equals(made.events)
