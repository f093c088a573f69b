"""The bootstrap interval of a median: it holds the truth as often as it says, also where samples hang together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from breakeven.stats.bootstrap import bootstrap_median, correlation_time

Floats = NDArray[np.float64]
SERIES = 300


def normal(draw: np.random.Generator, n: int) -> Floats:
    return draw.standard_normal(n)


def skewed(draw: np.random.Generator, n: int) -> Floats:
    return draw.exponential(size=n) - np.log(2)


def hanging_together(draw: np.random.Generator, n: int) -> Floats:
    noise, x = draw.standard_normal(n + 50), np.zeros(n + 50)
    for i in range(1, n + 50):
        x[i] = 0.5 * x[i - 1] + noise[i]
    return x[50:]


@pytest.mark.parametrize(("kind", "n"), [(normal, 8), (normal, 30), (skewed, 30), (skewed, 200), (hanging_together, 100)])
def test_the_interval_holds_the_median_as_often_as_it_says(kind: Callable[..., Floats], n: int) -> None:
    draw = np.random.default_rng(5)
    intervals = [bootstrap_median(10 + kind(draw, n)) for _ in range(SERIES)]
    assert np.mean([i.low <= 10 <= i.high for i in intervals]) >= 0.93


def test_it_agrees_with_a_bootstrap_that_draws() -> None:
    draw = np.random.default_rng(2)
    samples = draw.lognormal(size=101)
    medians = np.median(draw.choice(samples, size=(20_000, 101)), axis=1)
    low, high = np.quantile(medians, [0.025, 0.975])
    samples.sort()
    found = bootstrap_median([*np.stack([samples[:50], samples[:50:-1]], axis=1).ravel().tolist(), samples[50]])  # in no run
    at = np.searchsorted(samples, [found.low, low, found.high, high])
    assert abs(int(at[0]) - int(at[1])) <= 3
    assert abs(int(at[2]) - int(at[3])) <= 3


def test_samples_that_hang_together_are_worth_fewer() -> None:
    draw = np.random.default_rng(1)
    assert correlation_time(draw.standard_normal(2000)) < 1.3
    assert 2.0 < correlation_time(hanging_together(draw, 2000)) < 4.5
    assert correlation_time(np.full(50, 3.0)) == 1.0


def test_one_sample_is_no_certainty() -> None:
    found = bootstrap_median([4.0])
    assert (found.low, found.mid, found.high) == (2.0, 4.0, 8.0)


def test_equal_samples_have_no_width() -> None:
    found = bootstrap_median([4.0] * 20)
    assert (found.low, found.high, found.half_width) == (4.0, 4.0, 0.0)


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [float("inf")]])
def test_what_is_no_sample_is_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_median(samples)
