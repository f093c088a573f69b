"""Convolutions' prices are a blend of a formula and a table of times; neither falls when a size grows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from breakeven.costs.arithmetic import SCALAR, TABLE
from breakeven.costs.operations import BLENDS
from breakeven.costs.price import price_one
from breakeven.costs.table import Axis, Grid
from breakeven.machine.gpus import find_gpu

STORED = Path(__file__).resolve().parents[2] / "src" / "breakeven" / "costs" / "data" / "conv2d.json"
AXES = (Axis(0.0, 0.0, 2), Axis(1.0, 2.0, 3), Axis(0.0, 1.0, 1), Axis(-1.0, 0.5, 4))


def test_no_blended_table_falls_along_an_axis() -> None:
    tables = 0
    for variant, stored in json.loads(STORED.read_text())["variants"].items():
        assert variant in BLENDS
        axes = [Axis(*axis) for axis in stored["axes"]]
        for key, model in stored["models"].items():
            if "table" not in model:
                continue
            tables += 1
            values = np.array(model["table"]).reshape([a.count for a in axes])
            for d, axis in enumerate(axes):
                assert axis.step == 0.0 or np.diff(values, axis=d).min() >= 0, (variant, key, d)
    assert tables > 10


def test_a_grid_gives_its_knots_and_what_lies_between_and_goes_on_as_its_last_outside() -> None:
    values = [float(v) for v in range(24)]
    grid = Grid.of(AXES, values)
    assert grid.at(SCALAR, (1, 3.0, 7.0, 0.0)) == 12 + 4 + 2  # a knot of the second kind
    assert grid.at(SCALAR, (0, 2.0, 7.0, -0.75)) == 2.0 + 0.5  # midway along both
    assert grid.at(SCALAR, (0, 99.0, 7.0, 99.0)) == 11.0
    assert grid.beyond(SCALAR, (0, 6.0, 7.0, 1.5)) == 1.0 + 7.0 + 1.0
    rng = np.random.default_rng(0)
    places = (rng.integers(0, 2, 50), rng.uniform(-1, 8, 50), rng.uniform(0, 9, 50), rng.uniform(-3, 3, 50))
    one_by_one = [grid.at(SCALAR, (int(a), float(b), float(c), float(d))) for a, b, c, d in zip(*places, strict=True)]
    assert grid.at(TABLE, places) == pytest.approx(one_by_one)


@pytest.mark.parametrize("gpu", ["Tesla P100-PCIE-16GB", "Tesla T4", "A100 80GB PCIe", "Instinct MI25", "GTX TITAN X (Maxwell)"])
def test_a_larger_convolution_never_costs_less_whatever_its_filter_and_form(gpu: str) -> None:
    draw, device = random.Random(gpu), find_gpu(gpu)
    for _ in range(400):
        sizes = {c: float(round(2 ** draw.uniform(0, draw.choice((6, 12, 31))))) for c in "nchwk"}
        sizes |= draw.choice(({"r": 3.0, "s": 3.0, "pad_h": 1.0, "pad_w": 1.0}, {"r": 1.0, "s": 1.0}, {"r": 5.0, "s": 20.0}))
        sizes |= draw.choice(({}, {"stride_h": 2.0, "stride_w": 2.0}))
        direction = draw.choice(("forward", "backward_inputs", "backward_params"))
        column = draw.choice("nchwk")
        more = sizes | {column: float(int(sizes[column] * draw.choice((1.0, 1.01, 1.3, 2.0, 8.0))) + 1)}
        less = price_one("conv2d", device, dtype="float32", direction=direction, graph=False, **sizes)
        greater = price_one("conv2d", device, dtype="float32", direction=direction, graph=False, **more)
        assert greater.mid_us >= less.mid_us * (1 - 1e-9), (sizes, more)
