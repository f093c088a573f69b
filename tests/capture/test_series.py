"""Samples of steps, warm-up, and when there are enough of them, by a clock of our own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.capture.request import Place
from breakeven.capture.series import Limits, Pace, Series, warmup_of

MS = 1_000_000
STEPS = Place("optimizer", "train.py", 3)


def fed(*lengths_ms: float, limits: Limits = Limits()) -> int:  # noqa: B008  # frozen
    """How many steps of these lengths (the last repeats) a pace lets go by before it has enough."""
    series, pace, now = Series(STEPS, "cuda"), Pace(limits), 0
    series.edge(now, 0)
    for step in range(100_000):
        now += round(lengths_ms[min(step, len(lengths_ms) - 1)] * MS)
        series.edge(now, 0)
        if pace.enough(series, now):
            return len(series.samples)
    raise AssertionError("never enough")


@pytest.mark.parametrize(
    ("lengths_ms", "least", "most"),
    [
        ((1.0,), 500, 1100),  # short steps: at least half a second of them
        ((10.0,), 200, 260),
        ((100.0,), 50, 80),  # five seconds
        ((2_000.0,), 4, 4),  # one to warm up, and three
        ((8_000.0,), 3, 3),  # one to warm up, and two
        ((30_000.0,), 1, 1),  # it holds its own warm-up
    ],
)
def test_longer_steps_get_fewer_samples(lengths_ms: tuple[float, ...], least: int, most: int) -> None:
    assert least <= fed(*lengths_ms) <= most


def test_steps_asked_for_are_counted_after_warm_up() -> None:
    assert fed(1000.0, limits=Limits(steps=7)) == 2 + 7


def test_seconds_asked_for_end_it_whatever_the_steps_are() -> None:
    assert 50 <= fed(10.0, limits=Limits(seconds=0.5)) <= 90
    assert fed(10_000.0, limits=Limits(seconds=0.5)) <= 2


@pytest.mark.parametrize(
    ("samples", "warm"),
    [((), 0), ((7,), 0), ((9, 5), 1), ((900, 500, 100, 100, 100, 100, 100, 100), 2), ((100,) * 10, 1), ((5, 4, 3, 2, 1, 1), 3)],
)
def test_warm_up_ends_where_steps_are_as_fast_as_later_ones(samples: tuple[int, ...], warm: int) -> None:
    assert warmup_of(samples) == warm


@given(st.lists(st.integers(1, 10**12), max_size=60))
def test_warm_up_leaves_at_least_half_of_the_steps_and_one(samples: list[int]) -> None:
    warm = warmup_of(samples)
    assert 0 <= warm <= len(samples) // 2
    assert not samples or warm < len(samples)


def test_a_step_that_something_else_happened_in_is_left_out_where_others_do() -> None:
    series = Series(STEPS, "cuda")
    for at, tainted in ((0, False), (10, False), (20, False), (500, True), (510, False), (520, False)):
        series.tainted = tainted
        series.edge(at * MS, 0)
    assert series.group(None).samples_ns == (10 * MS,) * 4
    few = Series(STEPS, "cuda")
    few.edge(0, 0)
    few.tainted = True
    few.edge(30, 0)
    assert few.group(None).samples_ns == (30,)


def test_input_wait_belongs_to_the_step_it_happened_in() -> None:
    series = Series(STEPS, "cuda")
    for now, waited in ((0, 5), (100, 5), (200, 45), (300, 50)):
        series.edge(now, waited)
    assert series.waits == [0, 40, 5]
