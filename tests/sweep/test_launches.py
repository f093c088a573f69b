"""cuDNN runs a small hidden state in one kernel and a large one step by step; both sides of that edge are priced as recorded."""

from __future__ import annotations

import numpy as np
import pytest

from breakeven.sweep.aligned import aligned
from breakeven.sweep.design import places
from breakeven.sweep.grid import Grid, grid
from breakeven.sweep.model import _launches, _pricing, _rate, model, numbers
from breakeven.sweep.ran import Ran
from breakeven.timeline import OpStream
from breakeven.timeline.opstream import Call, OpStreamBuilder, attributes
from tests.sweep.made import machine, ran

OF = grid(["batch=8:512:x2", "hidden=16:1024:x2"])
#: Two on each side of the edge (192), and one beyond it that is held out.
CELLS = ((8, 16), (512, 16), (8, 1024), (64, 128), (128, 512))
HELD = (32, 256)
TIMESTEPS = 28


def recurrent(batch: int, hidden: int, steps: int = 3, own_ns: int = 0) -> OpStream:
    """A step of one LSTM, forward and backward, between pointwise operations."""
    builder, floats = OpStreamBuilder(), "float32"
    sizes = attributes(hidden=hidden, input=32, layers=1, bidirectional=False, batch=batch, timesteps=TIMESTEPS, train=True)
    shape = (TIMESTEPS, batch, hidden)
    for step in range(steps):
        for n in range(20):
            call = Call("aten::tanh", "compute", "cuda:0", (shape,), (floats,), (False,), (shape,), floats)
            builder.add(call, step=step, phase="forward", host_ns=2_000 + (own_ns if n == 7 else 0), cpu_ns=9_000)
        for suffix, phase in (("", "forward"), ("_backward", "backward")):
            call = Call(f"cudnn::lstm{suffix}", "compute", "cuda:0", (shape,), (floats,), (False,), (shape,), floats, sizes)
            builder.add(call, step=step, phase=phase, host_ns=2_000, cpu_ns=90_000)
    return builder.build(steps=steps, batch=batch)


def of_cell(of: Grid, cell: tuple[int, int], *, timed: bool = True, own_ns: int = 0) -> Ran:
    return Ran(
        of.cells.index(cell), cell, cell, ran(of, cell).step_ms if timed else None, cell[0], recurrent(*cell, own_ns=own_ns)
    )


def test_a_row_with_more_launches_in_one_cell_than_in_another_follows_its_law() -> None:
    side = aligned([recurrent(*cell) for cell in CELLS])
    assert side is not None
    assert side.odd == ()
    assert [one.like.name for one in side.varied] == ["cudnn::lstm", "cudnn::lstm_backward"]
    assert [one.backward for one in side.varied] == [False, True]


@pytest.mark.parametrize("gpu", ["t4", "a100"])
def test_a_cell_beyond_the_edge_is_priced_as_its_own_recording_is(gpu: str) -> None:
    here = machine(gpu)
    rans = [of_cell(OF, cell) for cell in CELLS]
    held = of_cell(OF, HELD, timed=False)
    found = model(OF, [*rans, held], here)
    name = here.gpus[0].name
    assert found.how == {name: "scaled"}
    assert found.checks[-1].error == pytest.approx(0, abs=1e-6)
    every = [*rans, held]
    cells = [r.values for r in every]
    steps = found.devices[name].steps(numbers(OF, cells), places(OF, cells))
    pricing = _pricing(here.gpus[0], _rate(rans, here.gpus[0], here), 200, 0)
    own = [pricing.step(r.stream).mid for r in every if r.stream is not None]
    assert np.allclose(steps.mid, own, rtol=0.08)  # one launch is simulated in as many parts as the most take
    assert _launches(recurrent(8, 1024)) > 5 * _launches(recurrent(8, 16))


def test_a_recording_that_was_held_up_changes_no_other_cell() -> None:
    """A pause of 20 ms in one recording, of which its timed step knows nothing."""
    here = machine("t4")
    calm = [of_cell(OF, cell) for cell in CELLS]
    held_up = [of_cell(OF, cell, own_ns=20_000_000 if cell == (512, 16) else 60_000) for cell in CELLS]
    at = numbers(OF, [HELD]), places(OF, [HELD])
    steps = [model(OF, rans, here).devices["Tesla T4"].steps(*at).mid[0] for rans in (calm, held_up)]
    assert steps[1] == pytest.approx(steps[0], rel=0.1)
