"""The joint distribution of a step's time."""

from __future__ import annotations

import numpy as np
import pytest
from builders import hosts, prices, training

from breakeven.simulate import Factors, call_factors, plain, schedule, step_ms, step_ns

DEVICE = {"aten::mm": 2_000_000, "aten::add": 1_000_000}
HOST = {"aten::mm": 5.0}


def test_the_mid_is_the_simulation_at_mid_prices() -> None:
    stream = training()
    costs, host = prices(stream, DEVICE, spread=1.5), hosts(stream, 1000, 2000, 0.3)
    found = step_ms(stream, costs, host)
    assert found.mid == pytest.approx(float(step_ns(schedule(stream, costs, host))[0]) / 1e6)
    assert found.low < found.mid < found.high
    assert found.draws.shape == (200,)


def test_one_seed_gives_one_answer_and_another_seed_another() -> None:
    stream = training()
    costs, host = prices(stream, DEVICE, spread=1.5), hosts(stream, 1000, 2000, 0.3)
    assert np.array_equal(step_ms(stream, costs, host, seed=3).draws, step_ms(stream, costs, host, seed=3).draws)
    assert not np.array_equal(step_ms(stream, costs, host, seed=3).draws, step_ms(stream, costs, host, seed=4).draws)


def test_certain_prices_and_a_certain_host_leave_no_width() -> None:
    stream = training()
    found = step_ms(stream, prices(stream, DEVICE), hosts(stream, 1000, 2000))
    assert found.low == found.mid == found.high


def test_a_launch_bound_step_is_as_wide_as_the_hosts_framework() -> None:
    stream = training()
    found = step_ms(stream, prices(stream, HOST, spread=3.0), hosts(stream, 0, 10_000, 0.25), draws=2000)
    assert np.log(found.high / found.low) == pytest.approx(2 * 1.645 * 0.25, rel=0.1)


def test_the_errors_of_a_family_add_up_instead_of_cancelling() -> None:
    stream = training(read_loss=False)
    found = step_ms(stream, prices(stream, DEVICE, spread=1.5), hosts(stream, 0, 10), draws=2000)
    one_price = 2 * np.log(1.5)
    assert 0.85 * one_price < np.log(found.high / found.low) <= 1.05 * one_price


def test_the_interval_of_a_single_price_is_the_one_it_came_with() -> None:
    stream = training()
    costs = prices(stream, DEVICE, spread=2.0)
    factors = call_factors(costs, Factors.of(20_000, seed=0))
    at = stream.calls["op"].to_list().index("aten::mm")
    assert np.quantile(factors[at], [0.05, 0.5, 0.95]) == pytest.approx([0.5, 1.0, 2.0], rel=0.05)


def test_two_devices_share_the_hosts_factor_draw_by_draw() -> None:
    stream = training()
    host = hosts(stream, 0, 10_000, 0.25)
    slow, fast = (step_ms(stream, prices(stream, {"aten::mm": ns}), host) for ns in (50.0, 5.0))
    assert np.corrcoef(slow.draws, fast.draws)[0, 1] > 0.999


def test_a_thousand_cells_of_150_operations_go_through_one_structure_and_each_is_what_it_is_alone() -> None:
    random = np.random.default_rng(0)
    host, device = random.integers(0, 9000, (150, 1000)), random.integers(1, 9000, (150, 1000))
    together = step_ns(plain([1] * 150, [1] * 150, waits=[-1] * 149 + [148]), host, device)
    alone = step_ns(plain(host[:, 7], device[:, 7], waits=[-1] * 149 + [148]))
    assert together.shape == (1000,)
    assert together[7] == alone[0]


def test_an_empty_stream_takes_no_time() -> None:
    stream = training(steps=0)
    assert step_ms(stream, prices(stream, {}), hosts(stream, 0, 0)).mid == 0.0


def test_a_very_long_stream_is_drawn_in_stretches_that_spread_as_the_whole_does(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = training(steps=900)
    costs, host = prices(stream, {"aten::mm": 9_000.0, "aten::add": 3_000.0}, spread=1.5), hosts(stream, 100, 700, 0.2)
    whole = step_ms(stream, costs, host)
    monkeypatch.setattr("breakeven.simulate.draws.MOST_ISSUES", 1024)
    monkeypatch.setattr("breakeven.simulate.draws._STRETCH", 256)
    part = step_ms(stream, costs, host)
    assert part.mid == whole.mid
    assert part.draws == pytest.approx(whole.draws, rel=0.02)
