"""Grids as they are typed, and which of their cells are run."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.errors import InputError
from breakeven.sweep.design import chosen, places
from breakeven.sweep.grid import Value, axis, grid
from breakeven.sweep.pick import pick


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("batch=16:128:x2", (16, 32, 64, 128)),
        ("batch=16:100:x2", (16, 32, 64, 100)),
        ("batch=10:1000:x10", (10, 100, 1000)),
        ("batch=16:64", (16, 32, 64)),
        ("n=10:40:+10", (10, 20, 30, 40)),
        ("lr=0.1,0.01", (0.01, 0.1)),
        ("cell=lstm,gru", ("lstm", "gru")),
        ("amp=true,false", (True, False)),
        ("hidden=256", (256,)),
        ("hidden=64,64,32", (32, 64)),
    ],
)
def test_an_axis_is_read_as_it_is_typed(text: str, values: tuple[Value, ...]) -> None:
    assert axis(text).values == values
    assert [type(v) for v in axis(text).values] == [type(v) for v in values]


@pytest.mark.parametrize(
    "text", ["batch", "batch=", "=3", "batch=64:16", "batch=0:16", "batch=1:8:x1", "batch=a:b:x2:3=", "n=1,,2", "n=1:9:+0"]
)
def test_what_is_no_axis_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match="--vary"):
        axis(text) if text != "batch=a:b:x2:3=" else grid([text, text])


def test_the_same_name_twice_and_too_many_cells_are_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        grid(["a=1,2", "a=3"])
    with pytest.raises(InputError, match="the most"):
        grid(["a=1:400:+1", "b=1:400:+1"])


def test_corners_come_first_and_then_the_middle() -> None:
    of = grid(["batch=16:256:x2", "hidden=16:256:x2"])
    cells = [of.cells[at] for at in chosen(of, 5)]
    assert set(cells[:4]) == {(16, 16), (16, 256), (256, 16), (256, 256)}
    assert cells[4] == (64, 64)


def test_each_word_gets_cells_of_its_own() -> None:
    of = grid(["cell=rnn,lstm,gru", "hidden=16:256:x2"])
    cells = [of.cells[at] for at in pick(of).measured]
    assert {c[0] for c in cells} == {"rnn", "lstm", "gru"}
    assert all(sum(1 for c in cells if c[0] == word) >= 2 for word in ("rnn", "lstm", "gru"))


def test_a_cell_that_failed_is_replaced() -> None:
    of = grid(["batch=16:4096:x2"])
    first = pick(of, 4)
    worst = first.measured[1]
    again = pick(of, 4, frozenset({worst}), tuple(a for a in first.measured if a != worst))
    assert worst not in again.measured
    assert len(again.measured) == 4
    assert set(first.measured) - {worst} <= set(again.measured)


def test_one_cell_is_recorded_that_no_law_is_made_from() -> None:
    found = pick(grid(["batch=16:4096:x2", "hidden=32:1024:x2"]))
    assert len(set(found.recorded) - set(found.measured)) == 1


def test_a_small_grid_is_run_whole() -> None:
    assert pick(grid(["batch=16,64,256"])).measured == (0, 2, 1)


def test_places_run_from_0_to_1_in_logarithms() -> None:
    assert np.allclose(places(grid(["batch=16:256:x4"])).ravel(), [0, 0.5, 1])
