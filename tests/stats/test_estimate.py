"""Samples to estimates: coverage, warm-up, doubts, ratios."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.stats import changes, draws_of, estimate, median_interval, ratio, ratio_of_draws
from breakeven.stats.estimate import Estimate

RANDOM = np.random.default_rng(7)
STEADY = np.exp(np.random.default_rng(1).normal(0, 0.05, 200)) * 1e6


@pytest.mark.parametrize("n", [5, 9, 30, 200, 2000])
def test_the_interval_of_the_median_covers_it_nine_times_in_ten(n: int) -> None:
    random = np.random.default_rng(n)
    held = [low <= 1 <= high for low, high in (median_interval(random.lognormal(0, 0.3, n)) for _ in range(1500))]
    assert np.mean(held) > 0.88


@pytest.mark.parametrize(
    ("samples", "warmup", "doubts"),
    [
        (STEADY, 0, ()),
        (np.concatenate([STEADY[:20] * 3, STEADY]), 20, ()),
        (np.concatenate([[5e7], STEADY]), 1, ()),
        (np.array([9e7, 1e6, 1.01e6, 1e6, 1.02e6, 1e6]), 1, ()),
        (STEADY * np.linspace(1, 1.5, 200), 0, ("drift",)),
        (np.where(np.random.default_rng(2).random(200) < 0.4, 2, 1) * STEADY, 0, ("bimodal",)),
        (np.where(np.arange(200) % 10 == 3, 3, 1) * STEADY, 0, ("outliers",)),
        (np.array([1.0, 1.0, 1.0]), 0, ("few",)),
        (np.full(50, 7.0), 0, ()),
    ],
    ids=["steady", "warm-up", "first call", "first call of six", "drift", "two modes", "outliers", "few", "constant"],
)
def test_warm_up_is_left_out_and_doubts_are_named(samples: np.ndarray, warmup: int, doubts: tuple[str, ...]) -> None:  # type: ignore[type-arg]
    found = estimate(samples)
    assert (found.warmup, found.doubts) == (warmup, doubts)
    assert found.n == len(samples) - warmup
    assert found.low <= found.mid <= found.high
    assert found.trusted == (not doubts)


def test_noise_alone_is_seldom_taken_for_warm_up_or_doubted() -> None:
    found = [estimate(np.random.default_rng(seed).lognormal(0, 0.1, 60)) for seed in range(200)]
    assert np.mean([one.warmup > 0 for one in found]) < 0.05
    assert np.mean([bool(one.doubts) for one in found]) < 0.05


def test_a_single_sample_is_half_to_double_and_doubted() -> None:
    assert estimate([8.0]) == Estimate(4.0, 8.0, 16.0, 1, 0, ("few",))


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [float("inf")]])
def test_no_samples_or_broken_ones_are_refused(samples: list[float]) -> None:
    with pytest.raises(ValueError, match="samples must be finite numbers and at least one"):
        estimate(samples)


@pytest.mark.parametrize(("levels", "at"), [([9, 1], [40]), ([9, 5, 1], [40, 80]), ([1], []), ([1, 1], [])])
def test_changes_are_found_where_the_level_changes(levels: list[float], at: list[int]) -> None:
    series = np.concatenate([np.full(40, float(level)) for level in levels])
    assert changes(series + np.random.default_rng(0).normal(0, 0.1, len(series))) == at


def test_twenty_thousand_samples_are_looked_at_in_groups() -> None:
    series = np.concatenate([np.full(6000, 3.0), np.full(14_000, 1.0)]) * RANDOM.lognormal(0, 0.02, 20_000)
    assert estimate(series).warmup == pytest.approx(6000, abs=40)


def test_a_ratio_holds_its_interval_and_the_probability_of_being_above_one() -> None:
    found = ratio(Estimate(1.9, 2.0, 2.1, 50), Estimate(0.95, 1.0, 1.05, 50))
    assert found.mid == 2.0
    assert found.low == pytest.approx(2 * np.exp(-np.sqrt(2) * np.log(1.05)), rel=0.02)
    assert (found.probability, found.tie) == (1.0, False)


def test_equal_estimates_tie_at_even_odds() -> None:
    one = Estimate(0.9, 1.0, 1.1, 50)
    found = ratio(one, one)
    assert found.tie
    assert found.probability == pytest.approx(0.5, abs=0.03)
    assert ratio_of_draws(np.ones(4), np.ones(4)).probability == 0.5


def test_draws_have_the_interval_they_are_made_from() -> None:
    assert np.quantile(draws_of(1, 2, 8, draws=20_000, seed=0), [0.05, 0.5, 0.95]) == pytest.approx([1, 2, 8], rel=0.05)
    with pytest.raises(ValueError, match="0 < low <= mid <= high"):
        draws_of(2, 1, 3, draws=1, seed=0)
