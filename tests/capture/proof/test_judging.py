"""Promises are judged by the numbers that both arms wrote down, and a change is kept by promise and speed."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from breakeven.capture.proof.equality import differences
from breakeven.capture.proof.judging import equality_of, judged
from breakeven.capture.proof.messages import NUMBERS
from breakeven.results import Interval
from breakeven.results.proof import Difference, Proof


def write(folder: pathlib.Path, step: int, **values: NDArray[np.float32]) -> None:
    folder.mkdir(exist_ok=True)
    arrays: dict[str, NDArray[np.float32] | NDArray[np.uint8]] = {}
    for name, value in values.items():
        full = name.replace("__", "/")
        arrays[full] = value
        arrays[f"digest/{full}"] = np.frombuffer(value.tobytes().ljust(16, b"\0")[:16], dtype=np.uint8)
    np.savez(folder / NUMBERS.format(step=step), **arrays)  # type: ignore[arg-type]  # numpy's own keyword among them


def one(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def test_each_kind_of_number_is_compared_by_itself(tmp_path: pathlib.Path) -> None:
    before, after = tmp_path / "a", tmp_path / "b"
    for step in (1, 2):
        write(before, step, losses__0=one(2.0), parameters__0=one(3.0, -4.0))
        write(after, step, losses__0=one(2.0), parameters__0=one(3.0, -4.0 + (step == 2) * 0.5))
    losses, parameters = differences(before, after, (1, 2))
    assert losses == Difference("losses", True, 0.0, None, 0.0)
    assert parameters == Difference("parameters", False, 0.1, 2, 0.1)


def test_a_missing_gradient_is_one_of_zeros(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a", 1, losses__0=one(1.0), gradients__0=one(3.0))
    write(tmp_path / "b", 1, losses__0=one(1.0), gradients__0=one(3.0), gradients__1=one(0.0, 0.0))
    assert differences(tmp_path / "a", tmp_path / "b", (1,))[1].largest == 0.0


def test_one_small_gradient_that_is_wrong_cannot_hide_behind_large_ones(tmp_path: pathlib.Path) -> None:
    large = np.linspace(1, 2, 10_000, dtype=np.float32)
    write(tmp_path / "a", 1, losses__0=one(1.0), gradients__0=large, gradients__1=one(0.01, 0.02))
    write(tmp_path / "b", 1, losses__0=one(1.0), gradients__0=large, gradients__1=one(0.02, 0.01))
    largest = differences(tmp_path / "a", tmp_path / "b", (1,))[1].largest
    assert largest is not None
    assert largest > 0.5


@pytest.mark.parametrize("third", [(0.0, 0.0), (1.0, 96.0)])
def test_nor_beside_one_that_needs_few_digits(tmp_path: pathlib.Path, third: tuple[float, float]) -> None:
    """Zeros and counts end in zero bits, as numbers of half precision do."""
    large = np.linspace(1, 2, 10_000, dtype=np.float32)
    for arm, small in (("a", one(0.01, 0.02)), ("b", one(0.02, 0.01))):
        write(tmp_path / arm, 1, losses__0=one(1.0), gradients__0=large, gradients__1=small, gradients__2=one(*third))
    largest = differences(tmp_path / "a", tmp_path / "b", (1,))[1].largest
    assert largest is not None
    assert largest > 0.5


def test_a_gradient_that_is_nothing_but_rounding_is_measured_by_all_of_them(tmp_path: pathlib.Path) -> None:
    large = np.linspace(1, 2, 10_000, dtype=np.float32)
    write(tmp_path / "a", 1, losses__0=one(1.0), gradients__0=large, gradients__1=one(1e-6, -1e-6))
    write(tmp_path / "b", 1, losses__0=one(1.0), gradients__0=large, gradients__1=one(-1e-6, 1e-6))
    largest = differences(tmp_path / "a", tmp_path / "b", (1,))[1].largest
    assert largest is not None
    assert 0 < largest < 1e-6


def test_parameters_of_other_shapes_cannot_be_compared(tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a", 1, losses__0=one(1.0), parameters__0=one(3.0))
    write(tmp_path / "b", 1, losses__0=one(1.0), parameters__0=one(3.0, 1.0))
    found = differences(tmp_path / "a", tmp_path / "b", (1,))
    assert found[1].largest is None
    assert equality_of("tolerance", 1e-6, 1, found, None).holds  # the losses speak alone
    assert "could not be compared" in equality_of("tolerance", 1e-6, 1, found, None).sentence


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite_must_be_alike(tmp_path: pathlib.Path, bad: float) -> None:
    write(tmp_path / "a", 1, losses__0=one(1.0))
    write(tmp_path / "b", 1, losses__0=one(bad))
    assert differences(tmp_path / "a", tmp_path / "b", (1,))[0].largest == float("inf")


@given(st.floats(0, 1), st.floats(1e-9, 1))
def test_a_tolerance_holds_exactly_up_to_itself(apart: float, tolerance: float) -> None:
    found = [Difference("losses", apart == 0, apart, None if apart == 0 else 1, apart)]
    assert equality_of("tolerance", tolerance, 5, found, None).holds is (apart <= tolerance)
    assert equality_of("bitwise", None, 5, found, None).holds is (apart == 0)


def test_a_script_that_does_not_repeat_itself_is_held_to_what_it_repeats() -> None:
    found = [Difference("losses", False, 3e-7, 1, 1e-3)]
    own = [Difference("losses", False, 2e-7, 1, 1e-3)]
    assert not equality_of("bitwise", None, 5, found, [Difference("losses", True, 0.0)]).holds
    equal = equality_of("bitwise", None, 5, found, own)
    assert (equal.holds, equal.repeatable) == (True, False)
    assert "does not repeat" in equal.sentence


def proof(low: float, mid: float, high: float, cpu: Interval | None = None) -> Proof:
    step = Interval(1.0, 1.0, 1.0)
    return Proof("cpu", Interval(low, mid, high), step, step, 41, 10, None, None, False, "", cpu)


SAME = equality_of("bitwise", None, 5, [Difference("losses", True, 0.0)], None)
OTHER = equality_of("bitwise", None, 5, [Difference("losses", False, 0.1, 1)], None)


@pytest.mark.parametrize(
    ("timed", "equality", "faster", "kept"),
    [
        (proof(1.1, 1.2, 1.3), SAME, True, True),
        (proof(0.9, 1.2, 1.3), SAME, True, False),
        (proof(0.9, 1.2, 1.5, Interval(1.15, 1.2, 1.25)), SAME, True, True),  # a busy machine: processor time says it
        (proof(0.7, 0.8, 0.9), SAME, True, False),
        (proof(0.7, 0.8, 0.9), SAME, False, True),  # for another device its speed here decides nothing
        (proof(1.1, 1.2, 1.3), OTHER, True, False),
        (proof(1.1, 1.2, 1.3), OTHER, False, False),
    ],
)
def test_kept_is_what_keeps_its_promise_and_is_faster(timed: Proof, equality: object, faster: bool, kept: bool) -> None:
    assert judged(timed, equality, faster).kept is kept  # type: ignore[arg-type]  # one of the two above


def test_the_interval_alone_decides_however_small_the_gain() -> None:
    equal = equality_of("bitwise", None, 5, [Difference("losses", True, 0.0)], None)
    small, doubtful = Interval(1.001, 1.002, 1.003), Interval(0.999, 1.002, 1.003)
    step = Interval(1.0, 1.0, 1.0)
    kept = [judged(Proof("cpu", by, step, step, 41, 1, None, None, False, ""), equal, True).kept for by in (small, doubtful)]
    assert kept == [True, False]
