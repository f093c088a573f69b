"""Cells of a large grid that get draws of their own stand for those that are like them."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.sweep import drawn
from breakeven.sweep.block import CELLS, blocks, compute
from breakeven.sweep.drawn import ALL_DRAWN, MOST_DRAWN, alike
from tests.sweep.made import made_model


def test_each_cell_of_a_few_gets_its_own() -> None:
    chosen, nearest = alike(np.random.default_rng(1).random((ALL_DRAWN, 2)))
    assert chosen.tolist() == nearest.tolist() == list(range(ALL_DRAWN))


@pytest.mark.parametrize("seed", range(5))
def test_of_many_each_takes_those_of_the_nearest(seed: int) -> None:
    regime = np.random.default_rng(seed).random((300, 2))
    chosen, nearest = alike(regime)
    assert len(set(chosen.tolist())) == MOST_DRAWN
    apart = np.linalg.norm(regime[:, None] - regime[None, chosen], axis=2)
    assert np.allclose(apart[np.arange(300), nearest], apart.min(axis=1))
    assert apart.min(axis=1).max() < 0.3


def test_cells_that_are_all_alike_need_one() -> None:
    chosen, nearest = alike(np.ones((100, 2)))
    assert (len(chosen), nearest.max()) == (1, 0)


def test_intervals_of_a_block_are_near_those_with_draws_for_each_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    found, parameters, at = made_model(cells=CELLS)
    of = next(compute(block) for block in blocks(found.devices, parameters, at))
    monkeypatch.setattr(drawn, "ALL_DRAWN", CELLS)
    all_drawn = next(compute(block) for block in blocks(found.devices, parameters, at))
    for end in ("low_ms", "high_ms"):
        off = np.abs(np.log((of[end] / all_drawn[end]).to_numpy()))
        assert off.mean() < 0.02
        assert off.max() < 0.15
    assert of["mid_ms"].equals(all_drawn["mid_ms"])
