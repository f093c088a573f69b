"""Recordings made by hand: a small network whose sizes follow from batch and width, in place of captured ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Cpu, Host
from breakeven.results.records import Interval
from breakeven.sweep.design import places
from breakeven.sweep.grid import Grid, grid
from breakeven.sweep.model import Machine, Model, model, numbers
from breakeven.sweep.ran import Ran
from breakeven.timeline import OpStream
from breakeven.timeline.opstream import Call, OpStreamBuilder

CPU = Cpu("made", 2, 2, 50.0, 10.0, 20.0)
HOST = Host("made", 0.9, 1.0, 1.1, "made for tests")


def stream(batch: int, width: int, operations: int = 30, steps: int = 3) -> OpStream:
    """A step of dense layers and pointwise operations, forward and backward."""
    builder = OpStreamBuilder()
    floats = "float32"
    for step in range(steps):
        for n in range(operations):
            phase = "forward" if n < operations // 2 else "backward"
            if n % 3 == 0:
                call = Call(
                    "aten::mm", "compute", "cuda:0", ((batch, width), (width, 4 * width)), (floats, floats), (False, True),
                    ((batch, 4 * width),), floats,
                )  # fmt: skip
            elif n % 3 == 1:
                call = Call(
                    "aten::tanh", "compute", "cuda:0", ((batch, 4 * width),), (floats,), (False,), ((batch, 4 * width),), floats
                )
            else:
                call = Call("aten::add", "compute", "cuda:0", ((width, width + 8),) * 2, (floats,) * 2, (True, True),
                            ((width, width + 8),), floats)  # fmt: skip
            builder.add(call, step=step, phase=phase, host_ns=3_000, cpu_ns=10_000)
    return builder.build(steps=steps, batch=batch)


def cpu_ms(batch: float, width: float) -> float:
    """The made CPU's law: set-up, arithmetic at 20 GFLOP/s, traffic at 5 GB/s."""
    return 0.3 + 10 * 8 * batch * width**2 / 20e6 + 10 * 32 * batch * width / 5e6


def machine(*gpus: str) -> Machine:
    """The made CPU and host with GPUs of the catalog."""
    return Machine(CPU, HOST, tuple(find_gpu(name) for name in gpus or ("t4",)))


def ran(of: Grid, cell: tuple[int, int], *, timed: bool = True, noise: float = 0.01) -> Ran:
    """A cell as if it had been run."""
    ms = cpu_ms(*cell)
    step = Interval(ms * (1 - noise), ms, ms * (1 + noise)) if timed else None
    return Ran(of.cells.index(cell), cell, cell, step, cell[0] if timed else None, stream(*cell))


def made_model(cells: int, operations: int = 30) -> tuple[Model, NDArray[np.float64], NDArray[np.float64]]:
    """A model of about so many cells, their parameters and places."""
    side = int(np.sqrt(cells))
    values = lambda low, high: ",".join(str(int(v)) for v in np.unique(np.geomspace(low, high, side).round()))  # noqa: E731
    of = grid([f"batch={values(8, 8192)}", f"width={values(16, 2048)}"])
    (b0, b1), (w0, w1) = ((a.values[0], a.values[-1]) for a in of.axes)
    mid = (of.axes[0].values[side // 2], of.axes[1].values[side // 2])
    corners = [(b0, w0), (b1, w1), (b0, w1), (b1, w0), mid]
    rans = [ran(of, cell) for cell in corners]  # type: ignore[arg-type]  # whole numbers
    found = model(of, rans, machine())
    return found, numbers(of, of.cells), places(of, of.cells)
