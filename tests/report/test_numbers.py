"""Numbers as people read them."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.report import json, numbers, text
from breakeven.results import Interval


@pytest.mark.parametrize("module", [numbers, text, json])
def test_the_examples_in_the_docstrings_hold(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]  # pytest's parameter is an object
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    ("value", "count", "shown"),
    [
        (2.6449, 2, "2.6"),
        (9.97, 2, "10"),
        (0.999, 2, "1.0"),
        (385.1, 2, "390"),
        (746.3, 3, "746"),
        (0.0456, 2, "0.046"),
        (-1.26, 2, "-1.3"),
        (0, 3, "0"),
    ],
)
def test_significant_digits(value: float, count: int, shown: str) -> None:
    assert numbers.digits(value, count) == shown


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(1.3449, "1.34 ms"), (0.0451, "45.1 µs"), (6631.0, "6.63 s"), (900_000.0, "15.0 min"), (0.0, "0 ms"), (999.96, "1000 ms")],
)
def test_durations_have_a_unit_that_suits(ms: float, shown: str) -> None:
    assert numbers.duration(ms) == shown


@pytest.mark.parametrize(
    ("low", "mid", "high", "shown"),
    [
        (0.8, 1.2, 1.6, "≈ 1.2 ms (0.8–1.6)"),
        (0.9, 1.4, 2.04, "≈ 1.4 ms (0.9–2.0)"),
        (0.004, 1.4, 2.0, "≈ 1.4 ms (0.004–2.0)"),
        (390.0, 452.0, 560.0, "≈ 450 ms (390–560)"),
        (-0.1, 0.3, 0.6, "≈ 0.30 ms (-0.10 to 0.60)"),
        (1.2, 1.2, 1.2, "≈ 1.2 ms"),
    ],
)
def test_a_range_has_the_unit_and_decimals_of_its_middle(low: float, mid: float, high: float, shown: str) -> None:
    assert numbers.approximately(Interval(low, mid, high)) == shown


@given(st.floats(1e-9, 1e12), st.integers(1, 4))
def test_digits_stay_close_and_plain(value: float, count: int) -> None:
    shown = numbers.digits(value, count)
    assert "e" not in shown
    assert float(shown) == pytest.approx(value, rel=0.5 * 10.0 ** (1 - count) * 1.0001)


@pytest.mark.parametrize(("chance", "shown"), [(0.5, "50 %"), (0.99, "99 %"), (0.996, "over 99 %"), (1.0, "over 99 %")])
def test_nothing_is_said_to_be_certain(chance: float, shown: str) -> None:
    assert numbers.probability(chance) == shown
