"""Recurrent layers of every kind and pass, from one time step to thousands, on every device of the catalog."""

from __future__ import annotations

from itertools import pairwise

import pytest

from breakeven.costs.price import price_one
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu, gpus

STEPS = (1, 2, 3, 7, 10, 50, 51, 199, 200, 201, 500, 1000, 2000, 4000, 8000)
PASSES = ("forward", "backward_inputs", "backward_params")


def chain(op: str, gpu: object, direction: str, hidden: int, batch: int, **more: float) -> list[float]:
    """Mid prices in µs at every length."""
    return [
        price_one(op, gpu, direction=direction, hidden=hidden, batch=batch, timesteps=t, **more).mid_us  # type: ignore[arg-type]
        for t in STEPS
    ]


@pytest.mark.parametrize("op", ["rnn", "gru", "lstm"])
def test_more_time_steps_cost_more_and_in_the_end_in_proportion(op: str) -> None:
    for gpu in gpus()[::7]:
        for direction in (*PASSES, "backward", "both"):
            for hidden, batch in ((32, 1), (256, 16), (1024, 64), (4096, 1024)):
                prices = chain(op, gpu, direction, hidden, batch, input=64.0)
                assert all(a < b for a, b in pairwise(prices)), (gpu.name, direction, hidden, batch)
                assert 1.3 <= prices[-1] / prices[-2] <= 2.05, (gpu.name, direction, hidden, batch)


@pytest.mark.parametrize("gpu", gpus(), ids=lambda g: g.name)
def test_a_chain_is_never_quicker_than_its_arithmetic_or_its_own_start(gpu: object) -> None:
    device = rates(gpu)  # type: ignore[arg-type]  # a parametrised Gpu
    for op, gates in (("rnn", 1), ("gru", 3), ("lstm", 4)):
        for direction in PASSES:
            for hidden, batch, prices in ((h, b, chain(op, gpu, direction, h, b)) for h, b in ((128, 8), (2048, 128))):
                for steps, us in zip(STEPS, prices, strict=True):
                    flops = 2.0 * steps * batch * hidden * hidden * gates
                    assert us >= max(flops / device.matrix["float32"] / device.ceiling("float32"), 1.5), (op, direction, steps)


def test_a_chain_of_small_steps_waits_for_each_of_them() -> None:
    """Measured ones take 14 µs or more a step at 256 hidden units (DeepBench); none is free."""
    for gpu in gpus():
        for op in ("rnn", "gru", "lstm"):
            for direction in ("forward", "backward_inputs"):
                one, many = (price_one(op, gpu, direction=direction, hidden=64, batch=1, timesteps=t).mid_us for t in (1, 4001))
                assert 0.2 <= (many - one) / 4000 <= 60.0, (gpu.name, op, direction)


def test_passes_add_up_to_the_whole() -> None:
    for name in ("Tesla V100-SXM2-16GB", "Tesla T4", "H100 PCIe", "Instinct MI25"):
        gpu = find_gpu(name)
        for op in ("rnn", "gru", "lstm"):
            for steps in (1, 30, 3000):
                sizes = {"hidden": 512, "batch": 32, "timesteps": steps, "input": 128, "layers": 2, "bidirectional": 1}
                each = [price_one(op, gpu, direction=d, **sizes).mid_us for d in PASSES]  # type: ignore[arg-type]  # sizes alone
                assert price_one(op, gpu, direction="backward", **sizes).mid_us == pytest.approx(sum(each[1:]))  # type: ignore[arg-type]
                assert price_one(op, gpu, direction="both", **sizes).mid_us == pytest.approx(sum(each))  # type: ignore[arg-type]
                assert min(each) > 0.0


def test_a_generation_that_nobody_measured_takes_the_quickest_of_those_that_somebody_did() -> None:
    """Pascal's library is slow at batch 32: a Turing card must not inherit that from it, nor be slower than Volta by much."""
    volta, turing = find_gpu("Tesla V100-SXM2-16GB"), find_gpu("TITAN RTX")
    sizes = {"hidden": 1536, "batch": 32, "timesteps": 375}
    known, guessed = (price_one("gru", g, direction="backward_inputs", **sizes).mid_us for g in (volta, turing))  # type: ignore[arg-type]
    assert guessed <= 2.5 * known
