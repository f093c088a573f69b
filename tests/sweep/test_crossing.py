"""The crossing of two curves: found between the points, with an interval that holds the truth as often as it says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from breakeven.stats import draws_of, estimate
from breakeven.sweep.crossing import Line, crossing

Floats = NDArray[np.float64]
GRID = np.array([16.0 * 2**k for k in range(9)])
SAMPLES = 30


class Law:
    """A synthetic device: set-up, a part that grows with the size, and one that grows a little faster or slower."""

    def __init__(self, setup: float, each: float, power: float) -> None:
        self.setup, self.each, self.power = setup, each, power

    def ms(self, size: Floats | float) -> Floats | float:
        return self.setup + self.each * size**self.power


def pair(random: np.random.Generator) -> tuple[Law, Law, float]:
    """Two devices that cross inside the grid, and where."""
    while True:
        cpu = Law(random.uniform(0.2, 1.0), 10 ** random.uniform(-3, -2), random.uniform(0.9, 1.1))
        gpu = Law(random.uniform(1.5, 5.0), cpu.each * random.uniform(0.02, 0.2), random.uniform(0.9, 1.0))
        lead = lambda x: cpu.ms(float(np.exp(x))) - gpu.ms(float(np.exp(x)))  # noqa: E731, B023
        low, high = np.log(GRID[0]), np.log(GRID[-1])
        if lead(low) < 0 < lead(high):
            return cpu, gpu, float(np.exp(brentq(lead, low, high)))


def measured(law: Law, random: np.random.Generator, noise: float, seed: int) -> tuple[Floats, Floats]:
    """A device as it is measured: some noisy samples at each point; middles and draws."""
    middles, draws = [], []
    for n, size in enumerate(GRID):
        samples = law.ms(float(size)) * np.exp(random.normal(0.0, noise, SAMPLES))
        found = estimate(samples, skip_warmup=False)
        middles.append(found.mid)
        draws.append(draws_of(found.low, found.mid, found.high, draws=200, seed=seed + n))
    return np.array(middles), np.stack(draws)


def line(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Line:
    return Line("batch", GRID, first[0], second[0], first[1], second[1], "made", {})


def test_the_interval_holds_the_truth_in_88_of_100_and_the_median_error_is_at_most_3_percent() -> None:
    random = np.random.default_rng(5)
    inside, errors = 0, []
    for n in range(200):
        cpu, gpu, truth = pair(random)
        found = crossing(line(measured(cpu, random, 0.06, 1000 * n), measured(gpu, random, 0.06, 1000 * n + 500)))
        assert found.outcome == "from"
        assert found.value is not None
        inside += (found.low or 0.0) <= truth <= (found.high or np.inf)
        errors.append(abs(found.value / truth - 1))
    assert inside >= 176  # 88 of 100
    assert np.median(errors) <= 0.03


def test_a_common_error_of_a_prediction_is_in_the_interval() -> None:
    """One device is predicted, all its points off by one factor; the truth is drawn from what the prediction says of itself."""
    random = np.random.default_rng(6)
    inside = 0
    for n in range(200):
        cpu, gpu, _ = pair(random)
        shared = np.random.default_rng(n).standard_normal(200)
        draws = gpu.ms(GRID)[:, None] * np.exp(0.1 * shared)[None]  # type: ignore[index]  # an array
        off = float(np.exp(0.1 * random.standard_normal()))
        lead = lambda x: cpu.ms(float(np.exp(x))) - off * gpu.ms(float(np.exp(x)))  # noqa: E731, B023
        if lead(np.log(GRID[0])) >= 0 or lead(np.log(GRID[-1])) <= 0:
            inside += 1
            continue
        truth = float(np.exp(brentq(lead, np.log(GRID[0]), np.log(GRID[-1]))))
        found = crossing(line(measured(cpu, random, 0.01, 1000 * n), (np.asarray(gpu.ms(GRID)), draws)))
        inside += (found.low or 0.0) <= truth <= (found.high or np.inf)
    assert inside >= 172


FLAT = (np.ones(9), np.ones((9, 50)))


def scaled(values: list[float]) -> tuple[Floats, Floats]:
    mid = np.array(values)
    return mid, np.repeat(mid[:, None], 50, axis=1)


@pytest.mark.parametrize(
    ("second", "outcome", "value", "said"),
    [
        ([0.5] * 9, "always", None, "wins at every batch from 16 to 4,096"),
        ([2.0] * 9, "never", None, "wins at no batch from 16 to 4,096"),
        ([4.0] * 4 + [0.25] * 5, "from", 2**0.5 * 128, "From a batch of about 180"),
        ([0.25] * 4 + [4.0] * 5, "up_to", 2**0.5 * 128, "Up to a batch of about 180"),
        ([4.0] * 3 + [0.25] * 3 + [4.0] * 3, "between", 2**0.5 * 64, "From a batch of about 91 (91 to 91) to one of about 720"),
    ],
)
def test_never_and_always_are_answers_and_a_window_has_two_ends(
    second: list[float], outcome: str, value: float | None, said: str
) -> None:
    found = crossing(line(FLAT, scaled(second)))
    assert found.outcome == outcome
    assert found.value == (None if value is None else pytest.approx(value, rel=0.02))
    assert said in found.sentence


def test_an_end_outside_the_range_is_none_and_said() -> None:
    draws = np.ones((9, 100)) * np.linspace(0.5, 1.6, 100)[None] * np.linspace(1.5, 0.9, 9)[:, None]
    found = crossing(line((np.ones(9), np.ones((9, 100))), (np.linspace(1.5, 0.9, 9), draws)))
    assert found.outcome == "from"
    assert found.low is None
    assert found.high is None
    assert "under 16 to over 4,096" in found.sentence
