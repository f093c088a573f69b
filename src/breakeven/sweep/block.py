"""Blocks of cells: the unit in which predicted cells are computed and kept. The same block gives the same bytes anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.sweep.devices import Device
from breakeven.sweep.scaled import Steps

Floats = NDArray[np.float64]

#: Cells of one block.
CELLS: Final = 256

#: Columns of a block's table, one row for each cell and device.
POSITION, DEVICE, LOW_MS, MID_MS, HIGH_MS, WINS = "position", "device", "low_ms", "mid_ms", "high_ms", "wins"


@dataclass(frozen=True)
class Block:
    """Cells to be computed.

    Attributes:
        first: position of the first one.
        devices: by name.
        parameters: shape (m, d).
        at: shape (m, axes).
    """

    first: int
    devices: Mapping[str, Device]
    parameters: Floats
    at: Floats


def blocks(devices: Mapping[str, Device], parameters: Floats, at: Floats) -> tuple[Block, ...]:
    """All cells, cut into blocks."""
    return tuple(
        Block(a, devices, parameters[a : a + CELLS], at[a : a + CELLS]) for a in range(0, len(parameters), CELLS)
    )  # fmt: skip


def compute(block: Block) -> pl.DataFrame:
    """The steps of a block's cells on each device: 90 % interval, and in which part of the draws it is the fastest."""
    steps = {name: device.steps(block.parameters, block.at) for name, device in block.devices.items()}
    if not steps:
        return pl.DataFrame()
    draws = np.stack([s.draws for s in steps.values()])  # (devices, m, draws)
    wins = np.argmin(draws, axis=0)
    tables = [_rows(block.first, name, s, (wins == n).mean(axis=1)) for n, (name, s) in enumerate(steps.items())]
    return pl.concat(tables)


def _rows(first: int, name: str, steps: Steps, wins: Floats) -> pl.DataFrame:
    low, high = np.quantile(steps.draws, [0.05, 0.95], axis=1)
    return pl.DataFrame(
        {
            POSITION: first + np.arange(len(steps.mid)),
            DEVICE: [name] * len(steps.mid),
            LOW_MS: np.minimum(low, steps.mid),
            MID_MS: steps.mid,
            HIGH_MS: np.maximum(high, steps.mid),
            WINS: wins,
        }
    )
