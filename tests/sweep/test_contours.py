"""The line on the map of two parameters lies where both devices take equally long, whatever its shape."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from breakeven.report import picture
from breakeven.sweep.contours import contours, zeros
from breakeven.sweep.grid import grid
from breakeven.sweep.lines import crossings
from breakeven.sweep.model import Model
from breakeven.sweep.scaled import Steps
from tests.sweep.test_worth_and_pictures import REPORT

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Made:
    """A device whose step is a set-up and a part for each sample and square of the width; its draws err together."""

    setup: float
    each: float
    sigma: float

    def steps(self, parameters: Floats, at: Floats) -> Steps:
        mid = self.setup + self.each * parameters[:, 0] * parameters[:, 1] ** 2
        return Steps(mid, mid[:, None] * np.exp(self.sigma * np.linspace(-2, 2, 101))[None])


def model(text: tuple[str, ...], gpu: Made) -> Model:
    devices: Any = {"cpu": Made(0.1, 1e-5, 0.0), "Tesla T4": gpu}
    return Model(grid(text), devices, {"Tesla T4": "scaled"}, None, ())


MAP = ("batch=8:1024:x2", "width=16:512:x2")


def truth(gpu_factor: float) -> float:
    """The product of batch and squared width at which the made devices take equally long."""
    return (2.0 * gpu_factor - 0.1) / (1e-5 - 1e-6 * gpu_factor)


def products(lines: tuple[tuple[tuple[float, float], ...], ...]) -> Floats:
    return np.array([x * y**2 for line in lines for x, y in line])


def test_every_point_of_the_line_is_where_both_take_equally_long() -> None:
    made = model(MAP, Made(2.0, 1e-6, 0.1))
    (found,) = contours(made, crossings(made, (None, None), (None, None)), (None, None))
    assert (found.x, found.y, found.gpu) == ("batch", "width", "Tesla T4")
    assert len(found.lines) == 1
    assert np.allclose(products(found.lines), truth(1.0), rtol=0.03)
    at_grid = [p for p in found.points if p.x is not None]
    assert at_grid
    assert np.allclose([(p.x or 0) * p.y**2 for p in at_grid], truth(1.0), rtol=0.03)


def test_the_band_holds_nine_of_ten_draws() -> None:
    """The draws of the made GPU are a factor of exp(0.1 z), z from -2 to 2: 90 % of them lie within 1.8."""
    made = model(MAP, Made(2.0, 1e-6, 0.1))
    (found,) = contours(made, (), (None, None))
    assert np.allclose(products(found.surely), truth(float(np.exp(0.18))), rtol=0.04)
    assert np.allclose(products(found.hardly), truth(float(np.exp(-0.18))), rtol=0.04)


def test_where_one_wins_everywhere_there_is_no_line() -> None:
    (found,) = contours(model(MAP, Made(1e6, 1e-6, 0.1)), (), (None, None))
    assert (found.lines, found.surely, found.hardly) == ((), (), ())


@pytest.mark.parametrize("text", [("batch=8:64",), ("cell=a,b", "batch=8:64"), ("batch=8", "width=8,16")])
def test_a_map_needs_two_numbers(text: tuple[str, ...]) -> None:
    assert contours(model(text, Made(2.0, 1e-6, 0.1)), (), (None,) * len(text)) == ()


def test_a_closed_line_ends_where_it_began_and_two_lines_stay_two() -> None:
    x = np.linspace(-1, 1, 21)
    field = 0.5 - np.hypot(x[None], x[:, None])
    (ring,) = zeros(x, x, field)
    assert ring[0] == ring[-1]
    assert np.allclose([np.hypot(*np.log(p)) for p in ring], 0.5, atol=0.02)
    assert len(zeros(x, x, np.abs(x[None]) + 0 * x[:, None] - 0.5)) == 2


@pytest.mark.parametrize(("high", "low", "cut_off"), [(1.0, -0.5, (1.0, 0.0)), (0.5, -1.0, (0.0, 0.0))])
def test_a_saddle_is_joined_by_what_lies_in_its_middle(high: float, low: float, cut_off: tuple[float, float]) -> None:
    """Where the middle is above zero the low corners are cut off, else the high ones."""
    x = np.array([0.0, 1.0])
    lines = [np.log(line) for line in zeros(x, x, np.array([[high, low], [low, high]]))]
    assert len(lines) == 2
    assert any(np.abs(line - np.array(cut_off)).sum(axis=1).max() < 1 for line in lines)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_the_line_and_its_band_are_drawn_on_the_map(suffix: str) -> None:
    made = model(("batch=16,64,256", "<b>width=8,32,128"), Made(2.0, 1e-6, 0.3))
    found = contours(made, (), (None, None))
    assert found[0].lines
    drawn = picture.picture_of(replace(REPORT, contours=found), suffix)
    assert len(drawn) > len(picture.picture_of(REPORT, suffix)) + 500
    if suffix == ".svg":
        assert b"break-even with the CPU" in drawn
