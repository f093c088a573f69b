"""Cells that would take too long are seen before they are run, and the sweep begins where that cannot happen."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.sweep.grid import grid
from breakeven.sweep.pick import first, pick, wanted
from breakeven.sweep.reach import longest, too_long

MAP = grid(["batch=8:1024:x2", "hidden=16:2048:x2"])


def step_ms(batch: float, hidden: float, each: float) -> float:
    return 2.0 + each * batch * hidden**2 * 1e-6


def picked(each: float) -> tuple[set[int], list[float]]:
    """Which cells are timed in the end, and how long each took, as the workflow goes about it."""
    timed = {at: step_ms(*MAP.cells[at], each) for at in first(MAP)}  # type: ignore[arg-type]  # numbers
    for _ in range(10):
        long = too_long(MAP, timed, 1.0)
        chosen = pick(MAP, have=tuple(timed), long=long)
        if set(chosen.measured) <= set(timed):
            return set(chosen.measured), list(timed.values())
        freely = pick(MAP, have=tuple(timed)).measured
        new = [at for at in freely if at in chosen.measured and at not in timed] or [a for a in chosen.measured if a not in timed]
        timed |= {at: step_ms(*MAP.cells[at], each) for at in new}  # type: ignore[arg-type]  # numbers
    raise AssertionError("it does not end")


@pytest.mark.parametrize("each", [0.0, 1e-3, 0.01, 0.1, 1.0, 10.0])
def test_no_cell_is_run_that_takes_seconds_and_as_many_are_run_as_were_wanted(each: float) -> None:
    """The largest of these cells takes up to 43 seconds a step."""
    cells, took = picked(each)
    assert len(cells) == wanted(MAP)
    assert max(took) <= 1000


def test_where_no_cell_is_long_the_corners_are_run() -> None:
    cells, _ = picked(1e-5)
    corners = {(8, 16), (8, 2048), (1024, 16), (1024, 2048)}
    assert corners <= {MAP.cells[at] for at in cells}


def test_the_first_cells_are_the_smallest_and_the_middle_of_each_choice_of_words() -> None:
    of = grid(["cell=rnn,lstm", "hidden=16:256:x2"])
    assert [of.cells[at] for at in first(of)] == [("rnn", 16), ("rnn", 64), ("lstm", 16), ("lstm", 64)]
    words = grid(["cell=rnn,lstm"])
    assert [words.cells[at] for at in first(words)] == [("rnn",), ("lstm",)]


def test_of_the_sums_that_agree_the_longest_is_taken() -> None:
    known = np.array([[8.0, 16.0], [64.0, 128.0]])
    wanted = np.array([[1024.0, 2048.0]])
    (said,) = longest(known, np.array([2.0, 4.0]), wanted)
    assert said >= 2 + 2 * (1024 / 64) * (2048 / 128) ** 2 * 0.9


def test_a_small_grid_is_run_whole_however_long_it_takes() -> None:
    of = grid(["batch=8,1024"])
    assert set(pick(of, long=frozenset({1})).measured) == {0, 1}
