"""The spread of runs about each other, and intervals that hold it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from breakeven.stats.between import spread_of, student, widened


@pytest.mark.parametrize(("freedom", "wanted"), [(3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (1000, 1.962)])
def test_students_quantile_is_that_of_the_tables(freedom: int, wanted: float) -> None:
    assert student(freedom, 0.95) == pytest.approx(wanted, rel=0.01)


def test_the_spread_is_pooled_within_groups_and_not_between_them() -> None:
    found = spread_of([[1.0, 1.1, 1.0, 1.1], [100.0, 110.0, 100.0, 110.0], [7.0]])
    assert found is not None
    assert (found.freedom, found.runs) == (6, 8)
    assert found.sd == pytest.approx(np.log(1.1) / 2 * np.sqrt(8 / 6))


@pytest.mark.parametrize("groups", [[], [[1.0]], [[1.0, 2.0, 3.0]], [[1.0, 2.0], [1.0, 2.0]], [[0.0, 0.0, 0.0, 0.0, 0.0]]])
def test_three_degrees_of_freedom_are_the_least(groups: list[list[float]]) -> None:
    assert spread_of(groups) is None


def test_an_interval_never_gets_narrower() -> None:
    assert widened(9.0, 10.0, 10.1, 1.05) == (9.0, 10.0, 10.5)
    assert widened(5.0, 10.0, 20.0, 1.0) == (5.0, 10.0, 20.0)


@pytest.mark.parametrize("drift", [0.0, 0.01, 0.12, 0.4])
def test_intervals_of_runs_of_a_wandering_machine_hold_its_mean_nineteen_times_in_twenty(drift: float) -> None:
    rng = np.random.default_rng(int(1000 * drift))
    held = total = met = pairs = 0
    for _ in range(300):
        runs = np.exp(rng.normal(0.0, drift, 12))
        intervals = []
        for at in range(3, 12):
            spread = spread_of([runs[: at + 1].tolist()])
            assert spread is not None
            low, _, high = widened(runs[at] * 0.999, runs[at], runs[at] * 1.001, spread.factor(0.95))
            intervals.append((low, high))
            held += low <= 1.0 <= high
            total += 1
        for a, b in combinations(intervals, 2):
            met += a[0] <= b[1] and b[0] <= a[1]
            pairs += 1
    assert held / total > 0.93
    assert met / pairs > 0.93
