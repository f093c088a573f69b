"""Over the whole catalog: a kernel with next to nothing to do costs a few microseconds, and a vector's product its traffic."""

from __future__ import annotations

import pytest

from breakeven.costs.price import price_one
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu, gpus

#: Kernels of negligible work in public traces take 1 to 12 µs.
TINY = (
    ("gemm", "forward", {"m": 25, "n": 50, "k": 50}),
    ("linear", "forward", {"m": 25, "n": 50, "k": 50}),
    ("bmm", "forward", {"b": 2, "m": 8, "n": 8, "k": 8}),
    ("conv2d", "forward", {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3}),
    ("conv2d", "backward_params", {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3}),
    ("conv2d", "backward_inputs", {"n": 1, "c": 4, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3}),
    ("add", "forward", {"elements": 1000}),
    ("gelu", "forward", {"elements": 1000}),
    ("softmax", "forward", {"rows": 32, "cols": 10}),
    ("layernorm", "forward", {"rows": 32, "cols": 64}),
)


@pytest.mark.parametrize("gpu", gpus(), ids=lambda g: g.name)
def test_a_kernel_with_next_to_nothing_to_do_costs_a_few_microseconds_on_any_device(gpu: object) -> None:
    for op, direction, sizes in TINY:
        one = price_one(op, gpu, direction=direction, **sizes)  # type: ignore[arg-type]  # a parametrised Gpu
        assert 1.5 <= one.mid_us <= 15.0, (op, direction, one)
        assert one.high_us <= 5.0 * one.mid_us, (op, direction, one)  # no convolution of DeepBench takes a T4 less than 17 µs


@pytest.mark.parametrize("name", ["Quadro K620", "GTX TITAN X (Maxwell)", "Tesla T4", "Tesla V100-SXM2-16GB", "Instinct MI25"])
def test_a_matrix_times_a_vector_costs_about_its_traffic(name: str) -> None:
    gpu = find_gpu(name)
    traffic_us = 4e8 / rates(gpu).bandwidth  # 400 MB: no cache holds it
    one = price_one("gemm", gpu, m=10000, n=1, k=10000)
    assert traffic_us * 0.9 <= one.mid_us <= 2.0 * traffic_us


def test_a_small_pageable_copy_is_known_within_a_factor_of_seven() -> None:
    for name in ("Tesla T4", "Quadro K620", "A100-SXM4-40GB"):
        one = price_one("copy_h2d", find_gpu(name), bytes=100_000.0)
        assert one.high_us / one.low_us < 7.0
