"""The heap and the array path are one model: equal to the nanosecond on any schedule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.simulate.arrays import Ends, ends
from breakeven.simulate.heap import play
from breakeven.simulate.schedule import Loader, Schedule, plain


@st.composite
def schedules(draw: st.DrawFn, most_streams: int = 1) -> Schedule:
    n = draw(st.integers(1, 40))

    def numbers(low: int, high: int) -> list[int]:
        return draw(st.lists(st.integers(low, high), min_size=n, max_size=n))

    engine = np.array(numbers(-1, 2))
    device = np.where(engine >= 0, numbers(0, 60), 0)
    waits = np.array([w if w <= i and w % 3 == 0 else -1 for i, w in enumerate(numbers(-1, 39))])
    stream = np.array(numbers(0, most_streams - 1))
    after = np.array([a if most_streams > 1 and a < i and a % 2 == 0 else -1 for i, a in enumerate(numbers(-1, 39))])
    loader = draw(st.none() | st.builds(Loader, st.integers(1, 3), st.integers(1, 3), st.integers(0, 200)))
    return plain(
        numbers(0, 40), device, engine=engine, waits=waits, stream=stream, after=np.where(engine >= 0, after, -1),
        kernels=numbers(1, 4), takes=np.array(numbers(0, 9)) == 0, queue_limit=draw(st.integers(1, 12)), loader=loader,
        step=np.sort(numbers(0, 3)) if n > 4 else None,
    )  # fmt: skip


def check_agree(schedule: Schedule, found: Ends | None = None) -> None:
    slow, fast = play(schedule), found or ends(schedule)
    np.testing.assert_array_equal(slow.issued, fast.issued[:, 0])
    np.testing.assert_array_equal(slow.ended, fast.ended[:, 0])
    np.testing.assert_array_equal(slow.free, fast.free[:, 0])


@given(schedules())
@settings(max_examples=120, deadline=None)
def test_one_stream_by_heap_and_by_running_maximum_agree_to_the_nanosecond(schedule: Schedule) -> None:
    check_agree(schedule)


@given(schedules(most_streams=3))
@settings(max_examples=80, deadline=None)
def test_several_streams_by_heap_and_by_issue_agree_to_the_nanosecond(schedule: Schedule) -> None:
    check_agree(schedule)


@given(schedules(), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_each_of_many_variants_is_what_it_is_alone(schedule: Schedule, seed: int) -> None:
    random = np.random.default_rng(seed)
    host = random.integers(0, 50, (len(schedule), 3))
    device = np.where(schedule.engine[:, None] >= 0, random.integers(0, 50, (len(schedule), 3)), 0)
    together = ends(schedule, host, device)
    for variant in range(3):
        alone = ends(schedule, host[:, [variant]], device[:, [variant]])
        np.testing.assert_array_equal(together.ended[:, variant], alone.ended[:, 0])


@pytest.mark.parametrize("kernels", [1, 7])
def test_a_stream_far_longer_than_the_queue_agrees(kernels: int) -> None:
    n = 3000
    random = np.random.default_rng(kernels)
    schedule = plain(random.integers(0, 9, n), random.integers(1, 12, n), kernels=np.full(n, kernels))
    check_agree(schedule)
