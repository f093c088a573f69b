"""Recordings whose steps differ in some operations are laid side by side by what they share, and lose nothing of the rest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.costs.calls import price_calls
from breakeven.costs.host import times_at
from breakeven.sweep.aligned import aligned
from breakeven.sweep.design import places
from breakeven.sweep.grid import grid
from breakeven.sweep.model import _pricing, _rate, model, numbers
from breakeven.sweep.ran import Ran
from breakeven.sweep.scaled import laws_of, scaled
from breakeven.sweep.shared_rows import common, where
from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call, OpStreamBuilder
from tests.sweep.made import machine, ran, stream

FLOATS = "float32"


def uneven(batch: int, width: int, pieces: tuple[int, ...], shuffled: bool = False) -> OpStream:
    """Steps of dense layers in which something is put together of more or fewer pieces; some hold an operation of the CPU."""
    builder = OpStreamBuilder()
    for step, count in enumerate(pieces):
        for n in range(10):
            call = Call(
                "aten::mm", "compute", "cuda:0", ((batch, width), (width, 4 * width)), (FLOATS,) * 2, (False, True),
                ((batch, 4 * width),), FLOATS,
            )  # fmt: skip
            builder.add(call, step=step, phase="forward", host_ns=3_000, cpu_ns=10_000)
            if n == 4:
                for _ in range(count):
                    copy = Call(
                        "aten::copy_", "compute", "cuda:0", ((8, width),) * 2, (FLOATS,) * 2, (False,) * 2, ((8, width),), FLOATS
                    )
                    builder.add(copy, step=step, phase="forward", host_ns=1_000, cpu_ns=2_000)
        if shuffled:
            builder.add(
                Call("aten::randperm", "compute", "cpu", (), (), (), ((64,),), "int64"), step=step, phase="other", host_ns=500,
                cpu_ns=5_000,
            )  # fmt: skip
    return builder.build(steps=len(pieces), batch=batch)


def test_an_operation_of_the_cpu_in_one_cell_is_no_hindrance() -> None:
    side = aligned([uneven(8, 32, (0, 0)), uneven(64, 32, (0, 0), shuffled=True)])
    assert side is not None
    assert len(side.step) == 10
    assert [len(rows) for rows in side.cells[1].apart] == [1, 1]


def test_steps_that_share_little_are_not_laid_side_by_side() -> None:
    assert aligned([uneven(8, 32, (0,)), uneven(64, 32, (100,))]) is None
    assert aligned([]) is None


def test_what_only_some_steps_hold_keeps_its_time_on_the_device_and_on_the_host() -> None:
    of = grid(["batch=8:64:x2", "width=32:128:x2"])
    cells = {(8, 32): (2, 3), (64, 128): (6, 8), (8, 128): (3, 3), (64, 32): (6, 7), (16, 64): (4, 4)}
    rans = [Ran(of.cells.index(c), c, c, ran(of, c).step_ms, c[0], uneven(*c, pieces)) for c, pieces in cells.items()]
    here = machine("t4")
    gpu = here.gpus[0]
    side = aligned([r.stream for r in rans if r.stream is not None])
    assert side is not None
    parameters, at = numbers(of, [r.values for r in rans]), places(of, [r.values for r in rans])
    rate = _rate(rans, gpu, here)
    found = scaled(side, laws_of(side, parameters), parameters, at, gpu, rate)
    for n, one in enumerate(rans):
        assert one.stream is not None
        costs = price_calls(one.stream.calls, gpu)
        device_ms = costs.device_ns[1][edit.column(one.stream, schema.ROW_CALL)].sum() / one.stream.steps / 1e6
        host = times_at(one.stream, costs, rate)
        assert found.device_ms(parameters[n : n + 1], at[n : n + 1])[0] == pytest.approx(device_ms, rel=1e-3)
        kept = found.before_ns[n].sum() + (found.issue[n][found.plan.row] * found.issue_ns).sum() / found.plan.steps
        assert kept == pytest.approx(np.nansum(host.before_ns + host.issue_ns) / one.stream.steps, rel=0.01)
    steps = model(of, rans, here).devices["Tesla T4"].steps(parameters, at)
    own = [_pricing(gpu, rate, 200, 0).step(r.stream).mid for r in rans if r.stream is not None]
    assert np.allclose(steps.mid, own, rtol=0.05)


@pytest.mark.parametrize(("pieces", "way"), [((4, 4), "scaled"), ((60, 60), "interpolated")])
def test_the_check_sees_the_host_s_time_of_what_is_interpolated(pieces: tuple[int, int], way: str) -> None:
    of = grid(["batch=8:64:x2", "width=32:128:x2"])
    cells = {(8, 32): (4, 4), (64, 128): (5, 5), (8, 128): (4, 4), (64, 32): (5, 5)}
    rans = [Ran(of.cells.index(c), c, c, ran(of, c).step_ms, c[0], uneven(*c, p)) for c, p in cells.items()]
    held = Ran(of.cells.index((16, 64)), (16, 64), (16, 64), None, None, uneven(16, 64, pieces))
    found = model(of, [*rans, held], machine("t4"))
    assert found.how == {"Tesla T4": way}
    assert way != "scaled" or "what all steps share) holds: kernels or steps" in found.checks[-1].sentence


def test_equal_steps_are_still_taken_whole() -> None:
    side = aligned([stream(16, 32), stream(64, 32)])
    assert side is not None
    assert all(len(rows) == 0 for cell in side.cells for rows in cell.apart)


steps = st.lists(st.integers(0, 4), min_size=1, max_size=12).map(tuple)


@given(st.lists(steps, min_size=1, max_size=4))
def test_what_is_shared_stands_in_every_step_in_that_order(found: list[tuple[int, ...]]) -> None:
    shared = common(found)
    if shared is None:
        return
    for step in found:
        places_ = where(shared, step)
        assert places_ == sorted(set(places_))
        assert tuple(step[at] for at in places_) == shared
