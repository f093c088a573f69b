"""The one way that a Timeline is made: what it checks, how it sorts, and what it tells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.timeline import Lane, Origin, Timeline, TimelineBuilder, schema
from breakeven.timeline.nesting import crossing, nesting
from breakeven.timeline.queries import busy, devices, idle, nested, overlap, self_ns

HOST, STREAM = Lane("host", "cpu", "main"), Lane("stream", "cuda:0", "stream 0")
START, LENGTH, LANE = schema.EVENT_START.name, schema.EVENT_DURATION.name, schema.EVENT_LANE.name
LINK, KIND, NAME = schema.EVENT_LINK.name, schema.EVENT_KIND.name, schema.EVENT_NAME.name


def make(**columns: object) -> Timeline:
    return Timeline.from_columns(columns, lanes=[HOST, STREAM], origin=Origin("measured"))


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ({START: [-1], LENGTH: [1]}, "starts before 0; repairs.shift_origin"),
        ({START: [0], LENGTH: [-5]}, "negative length; repairs.whole_times"),
        ({START: [None], LENGTH: [1]}, "no start; repairs.whole_times"),
        ({START: np.array([0.5]), LENGTH: [1]}, "must be whole, not 0.5: repairs.whole_times"),
        ({START: [0], LENGTH: [1], LANE: [2]}, "is on no lane"),
        ({START: [0, 5], LENGTH: [10, 10]}, r"event 1 \(''\) neither nests nor is disjoint in its lane; repairs.nest"),
        ({START: [0], LENGTH: [1], LINK: [7]}, "links to no event"),
        ({START: [5, 0], LENGTH: [1, 1], LINK: [-1, 0], LANE: [0, 1]}, "event 1 goes back in time; repairs.forward_links"),
        ({START: [0, 1], LENGTH: [9, 2], LINK: [-1, 0], LANE: [1, 0], KIND: ["compute", "sync"]}, "event 1 goes back in time"),
        ({"colour": ["red"]}, "no such column of events: colour; there are bytes"),
    ],
)
def test_a_broken_invariant_is_named_with_the_pass_that_mends_it(columns: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make(**columns)


def test_events_are_sorted_by_start_then_lane_then_longer_first_and_links_follow() -> None:
    made = make(**{NAME: list("dcba"), START: [9, 5, 5, 0], LENGTH: [1, 2, 3, 9], LANE: [1, 0, 0, 1], LINK: [1, -1, -1, -1]})
    assert made.events[NAME].to_list() == ["a", "b", "c", "d"]
    assert made.events[LINK].to_list() == [-1, -1, -1, 2]


def test_a_wait_may_begin_before_what_it_waits_for() -> None:
    made = make(**{START: [0, 5], LENGTH: [10, 5], LANE: [0, 1], KIND: ["sync", "compute"], LINK: [1, -1]})
    assert made.events[LINK].to_list() == [1, -1]


def test_columns_left_out_take_their_defaults_and_all_columns_have_the_types_of_the_schema() -> None:
    made = make(**{START: [0], LENGTH: [1]})
    assert made.events.schema == {c.name: c.dtype for c in schema.EVENTS}
    assert made.events.row(0, named=True)[LINK] == -1


def test_an_empty_timeline_is_a_timeline() -> None:
    assert len(TimelineBuilder().build(Origin("imported"))) == 0


@st.composite
def families(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]  # of whole numbers
    n = draw(st.integers(1, 14))
    lane = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    start = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    length = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    return np.array(lane), np.array(start), np.array(length)


@given(families())
@settings(max_examples=300, deadline=None)
def test_crossing_events_are_found_exactly_where_pairs_cross(family: tuple[np.ndarray, ...]) -> None:  # type: ignore[type-arg]
    lane, start, length = family
    end = start + length
    crosses = any(
        lane[i] == lane[j] and start[i] < start[j] < end[i] < end[j] for i in range(len(start)) for j in range(len(start))
    )
    assert bool(len(crossing(lane, start, length))) == crosses


@given(families())
@settings(max_examples=300, deadline=None)
def test_the_parent_is_the_shortest_event_around(family: tuple[np.ndarray, ...]) -> None:  # type: ignore[type-arg]
    lane, start, length = family
    if len(crossing(lane, start, length)):
        return
    found = nesting(lane, start, length)
    end = start + length
    for i, parent in enumerate(found.parent):
        wider = (lane == lane[i]) & (length > length[i]) & (start <= start[i]) & (end[i] <= end)
        around = np.flatnonzero(wider & ~((length[i] == 0) & (start[i] == end)))
        if parent >= 0:
            assert start[parent] <= start[i]
            assert end[i] <= end[parent]
            assert found.depth[i] == found.depth[parent] + 1
        if len(around):
            assert length[parent] <= length[around].min()
        else:
            assert parent < 0 or length[parent] == length[i]


def test_times_of_a_century_in_many_lanes_still_nest() -> None:
    start = np.array([0, 10, 3 * 10**18, 3 * 10**18 + 5])
    found = nesting(np.array([0, 0, 70_000, 70_000]), start, np.array([100, 20, 100, 10]))
    assert found.parent.tolist() == [-1, 0, -1, 2]


def test_queries_answer_what_was_busy_idle_overlapping_and_own() -> None:
    copy = Lane("copy", "cuda:0", "h2d")
    made = Timeline.from_columns(
        {START: [0, 2, 10, 20, 15, 0], LENGTH: [9, 3, 5, 10, 10, 1], LANE: [0, 0, 1, 1, 2, 3],
         KIND: ["host", "host", "compute", "compute", "copy", "compute"]},
        lanes=[HOST, STREAM, copy, Lane("stream", "cuda:1")], origin=Origin("measured"),
    )  # fmt: skip
    assert devices(made) == ("cuda:0", "cuda:1")
    assert (busy(made, "cuda:0").start.tolist(), busy(made, "cuda:0").end.tolist()) == ([10], [30])
    assert idle(made, "cuda:0").total_ns == 0
    assert (overlap(made, "cuda:0").start.tolist(), overlap(made, "cuda:0").end.tolist()) == ([20], [25])
    assert self_ns(made).tolist() == [6, 1, 3, 5, 10, 10]
    assert nested(made).parent.tolist() == [-1, -1, 0, -1, -1, -1]
