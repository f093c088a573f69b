"""The verdict says who wins, by how much and how surely; errors that both sides share cancel out."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.diagnose.verdict import draws_of, verdict
from breakeven.results.records import Interval

GPU = "Tesla T4"


def spread(mid: float, sigma: float, seed: int = 1) -> np.ndarray:
    return mid * np.exp(np.random.default_rng(seed).standard_normal(2000) * sigma)


def test_a_gpu_step_twice_as_long_keeps_the_training_on_the_cpu() -> None:
    said = verdict(Interval(1.31, 1.34, 1.37), spread(2.6, 0.1), GPU)
    assert (said.device, said.over, said.tie) == ("cpu", GPU, False)
    assert said.factor.low < said.factor.mid < said.factor.high
    assert said.factor.mid == pytest.approx(1.94, abs=0.05)
    assert said.probability > 0.99
    assert said.sentence.startswith(
        "Stay on the CPU: a step takes 1.3 ms here and about 2.6 ms on the Tesla T4, 1.9 times as long"
    )


def test_a_gpu_step_of_a_tenth_takes_the_training_to_the_gpu() -> None:
    said = verdict(Interval(95, 100, 105), spread(10, 0.2), GPU)
    assert (said.device, said.over) == (GPU, "cpu")
    assert said.sentence.startswith("Use the GPU: ")
    assert "10 times as fast" in said.sentence


def test_the_sentence_gives_the_times_that_the_table_of_devices_gives() -> None:
    said = verdict(Interval(60, 68.4, 115), spread(18.9, 0.1), GPU, gpu_ms=18.2)
    assert "a step takes 68 ms here and about 18 ms on the Tesla T4" in said.sentence


def test_an_interval_that_holds_one_is_too_close_to_call() -> None:
    said = verdict(Interval(0.99, 1, 1.01), spread(1.1, 0.3), GPU)
    assert said.tie
    assert said.factor.low <= 1 <= said.factor.high
    assert said.sentence.startswith("Too close to call: ")
    assert 0.5 < said.probability < 0.8


def test_a_likely_winner_is_named_though_the_interval_holds_one() -> None:
    said = verdict(Interval(0.99, 1, 1.01), spread(1.5, 0.3), GPU)
    assert said.tie
    assert 0.8 < said.probability < 0.95
    assert said.sentence.startswith("Probably stay on the CPU: ")
    assert "1.5 times as long; the CPU is faster with a probability of 9" in said.sentence


def test_errors_that_both_share_cancel_out() -> None:
    host = spread(1.0, 0.5)
    paired = verdict(host, 1.5 * host, GPU)
    apart = verdict(spread(1.0, 0.5, seed=2), 1.5 * host, GPU)
    assert not paired.tie
    assert paired.factor.low == pytest.approx(paired.factor.high)
    assert apart.tie


def test_a_measured_interval_comes_back_as_the_quantiles_of_its_draws() -> None:
    low, mid, high = np.quantile(draws_of(Interval(8, 10, 20), 20_000), [0.05, 0.5, 0.95])
    assert (low, mid, high) == (pytest.approx(8, rel=0.02), pytest.approx(10, rel=0.02), pytest.approx(20, rel=0.04))


@pytest.mark.parametrize("gpu", [np.array([]), np.array([0.0, 1.0]), np.array([-1.0])])
def test_times_that_are_none_are_refused(gpu: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"draws|no time"):
        verdict(Interval(1, 1, 1), gpu, GPU)


def test_draws_of_different_number_are_refused() -> None:
    with pytest.raises(ValueError, match="draws"):
        verdict(np.ones(3), np.ones(4), GPU)
