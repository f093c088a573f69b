"""Sizes follow laws, cells between are priced by them, and the law is checked where a cell was held out."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from breakeven.diagnose.pricing import Pricing
from breakeven.sweep.aligned import aligned
from breakeven.sweep.block import blocks, compute
from breakeven.sweep.design import places
from breakeven.sweep.grid import grid
from breakeven.sweep.laws import law
from breakeven.sweep.model import CPU, capped, model, numbers
from breakeven.sweep.positive import fit, nonnegative
from tests.sweep.made import cpu_ms, machine, made_model, ran, stream

CELLS = np.array([(16, 32), (512, 512), (16, 512), (512, 32), (64, 128)], dtype=float)


@given(
    st.sampled_from([(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]), st.sampled_from([(0, 1), (1, 0), (0, 0), (0, 2)]),
    st.integers(1, 64), st.integers(0, 64),
)  # fmt: skip
def test_a_sum_of_products_is_found_and_holds_elsewhere(one: tuple[int, int], two: tuple[int, int], a: int, b: int) -> None:
    def size(at: np.ndarray) -> np.ndarray:
        return a * np.prod(at ** np.array(one), axis=1) + b * np.prod(at ** np.array(two), axis=1)

    found = law(size(CELLS), CELLS)
    assert found.error == 0
    elsewhere = np.array([(32, 64), (128, 256), (256, 96)], dtype=float)
    assert np.allclose(found.values(elsewhere), size(elsewhere), rtol=0.02, atol=1)


def test_sizes_that_follow_no_law_get_the_nearest_product_and_say_so() -> None:
    noisy = CELLS[:, 0] * np.array([20.0, 22.3, 19.1, 21.7, 20.4])
    found = law(np.round(noisy), CELLS)
    assert 0 < found.error < 0.1
    assert found.powers.tolist() == [[1, 0]]


def test_recordings_with_other_operations_cannot_be_laid_side_by_side() -> None:
    assert aligned([stream(16, 32), stream(64, 32)]) is not None
    assert aligned([stream(16, 32, operations=30), stream(64, 32, operations=150)]) is None


def test_a_scaled_cell_is_priced_as_its_own_recording_is() -> None:
    of = grid(["batch=16:512:x2", "width=32:512:x2"])
    rans = [ran(of, (int(b), int(w))) for b, w in CELLS]
    held = ran(of, (128, 256), timed=False)
    found = model(of, [*rans, held], machine("t4", "a100"))
    for check in found.checks[1:]:
        assert check.holds
        assert check.cells == 1
        assert check.error is not None
        assert check.error < 1e-3
    assert found.how == {"Tesla T4": "scaled", "A100-SXM4-40GB": "scaled"}


def test_a_law_that_does_not_hold_is_said_and_not_used() -> None:
    of = grid(["batch=16:512:x2", "width=32:512:x2"])
    rans = [ran(of, (int(b), int(w))) for b, w in CELLS]
    odd = ran(of, (128, 256), timed=False)
    assert odd.stream is not None
    from dataclasses import replace

    lying = replace(odd, stream=stream(128, 2048))
    found = model(of, [*rans, lying], machine())
    assert found.how == {"Tesla T4": "interpolated"}
    assert "do not scale" in found.checks[1].sentence


def test_the_cpu_between_measured_cells_is_near_its_law_and_never_called_measured() -> None:
    of = grid(["batch=16:512:x2", "width=32:512:x2"])
    found = model(of, [ran(of, (int(b), int(w))) for b, w in CELLS], machine())
    cells = [(32, 64), (256, 256), (128, 64)]
    steps = found.devices[CPU].steps(numbers(of, cells), places(of, cells))
    truth = np.array([cpu_ms(*cell) for cell in cells])
    assert np.allclose(steps.mid, truth, rtol=0.1)
    low, high = np.quantile(steps.draws, [0.05, 0.95], axis=1)
    assert ((low <= truth * 1.05) & (truth * 0.95 <= high)).all()


def test_a_data_set_that_is_smaller_than_the_batch_is_noticed() -> None:
    from dataclasses import replace

    of = grid(["batch=16:1024:x4"])
    rans = [replace(ran(of, (b, 32)) if False else _one(of, b), batch=min(b, 256)) for b in (16, 64, 256, 1024)]
    moved, said = capped(of, rans)
    assert [r.values for r in moved] == [(16,), (64,), (256,)]
    assert "no more than 256" in said[0]


def _one(of, batch):  # type: ignore[no-untyped-def]  # a cell of one axis
    from breakeven.results.records import Interval
    from breakeven.sweep.ran import Ran

    ms = cpu_ms(batch, 32)
    return Ran(of.cells.index((batch,)), (batch,), (batch,), Interval(ms, ms, ms), batch, stream(batch, 32))


def test_weights_are_never_negative_and_known_cells_keep_their_time() -> None:
    features = np.array([[1.0, 1.0, 1.0], [1.0, 4.0, 16.0], [1.0, 16.0, 256.0], [1.0, 64.0, 4096.0]])
    times = features @ np.array([2.0, 0.0, 0.5])
    assert np.allclose(nonnegative(features, times), [2.0, 0.0, 0.5])
    at = np.linspace(0, 1, 4)[:, None]
    noisy = times * np.array([1.0, 1.2, 0.9, 1.0])
    assert np.allclose(fit(features, noisy, at).value(features, at), noisy)


@pytest.mark.slow
def test_a_thousand_cells_of_150_operations_take_at_most_a_second() -> None:
    """The least of three, in processor time: what else runs on the machine is not counted."""
    found, parameters, at = made_model(cells=1024, operations=150)
    gpus = {name: device for name, device in found.devices.items() if name != CPU}
    taken = []
    for _ in range(3):
        began = time.process_time()
        tables = [compute(block) for block in blocks(gpus, parameters, at)]
        taken.append(time.process_time() - began)
    assert sum(t.height for t in tables) == len(parameters) >= 1000
    assert min(taken) <= 1.0


def test_the_same_block_gives_the_same_table() -> None:
    found, parameters, at = made_model(cells=49)
    one, two = (compute(blocks(found.devices, parameters, at)[0]) for _ in range(2))
    assert one.equals(two)


def test_the_step_of_a_recorded_cell_agrees_with_pricing_it_alone() -> None:
    """`Pricing` and the arrays are two ways to one number."""
    from breakeven.costs.calls import price_calls
    from breakeven.costs.host import times_at
    from breakeven.sweep.model import _rate

    of = grid(["batch=16:512:x2", "width=32:512:x2"])
    rans = [ran(of, (int(b), int(w))) for b, w in CELLS]
    here = machine()
    rate = _rate(rans, here.gpus[0], here)
    pricing = Pricing(lambda s: price_calls(s.calls, here.gpus[0]), lambda s, c: times_at(s, c, rate))
    steps = model(of, rans, here).devices["Tesla T4"].steps(CELLS, places(of, [r.asked for r in rans]))
    own = [pricing.step(r.stream).mid for r in rans if r.stream is not None]
    assert np.allclose(steps.mid, own, rtol=2e-3)
