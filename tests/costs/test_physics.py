"""Over the whole catalog: a price is finite and positive, never below the roofline, and never falls when there is more to do."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from breakeven.costs.operations import DTYPES, KINDS, OPERATIONS
from breakeven.costs.price import price, price_one
from breakeven.costs.rates import rates
from breakeven.machine.gpus import find_gpu, gpus
from breakeven.machine.records import Gpu
from breakeven.units import ITEM_SIZE

DEVICES = st.sampled_from([g for g in gpus() if g.fp64_tflops])
SIZES = st.floats(0, 31).map(lambda e: round(2.0**e))
#: Sizes of which more never costs less. What is missing: a filter's size and padding change the output; a stride shrinks it.
GROWING = {
    "gemm": ("m", "n", "k"),
    "linear": ("m", "n", "k"),
    "bmm": ("b", "m", "n", "k"),
    "conv2d": ("n", "c", "h", "w", "k"),
    "rnn": ("batch", "timesteps", "hidden", "layers"),
    "gru": ("batch", "timesteps", "hidden", "layers"),
    "lstm": ("batch", "timesteps", "hidden", "layers", "input"),
    "softmax": ("rows", "cols"),
    "layernorm": ("rows", "cols"),
    "copy_h2d": ("bytes",),
    "copy_d2h": ("bytes",),
    "copy_d2d": ("bytes",),
    "stream": ("bytes",),
    **dict.fromkeys(("add", "mul", "div", "pow", "relu", "gelu", "tanh", "sigmoid"), ("elements",)),
}
FACTORS = st.sampled_from((1.0, 1.001, 1.01, 1.1, 1.5, 2.0, 4.0, 16.0))
Call = tuple[str, dict[str, float], dict[str, str]]
FIXED = {"conv2d": {"r": 3.0, "s": 3.0, "pad_h": 1.0, "pad_w": 1.0}}


@st.composite
def calls(draw: st.DrawFn) -> Call:
    op = draw(st.sampled_from(sorted(GROWING)))
    sizes = {c: float(draw(SIZES)) for c in GROWING[op]} | FIXED.get(op, {})
    sizes |= {c: float(draw(st.sampled_from((0, 1)))) for c in OPERATIONS[op].columns if c == "pinned"}
    words = {"dtype": draw(st.sampled_from(DTYPES)), "direction": draw(st.sampled_from(OPERATIONS[op].directions))}
    return op, sizes, words


def finite(call: Call, gpu: Gpu) -> None:
    """Any shape has a price, and the interval is one."""
    op, sizes, words = call
    one = price_one(op, gpu, **words, **sizes)  # type: ignore[arg-type]  # hypothesis hands the words on as a dict
    assert 0.0 < one.low_us <= one.mid_us <= one.high_us < math.inf


def rising(call: Call, gpu: Gpu, column: str, factor: float) -> None:
    """More of one size costs no less."""
    op, sizes, words = call
    more = sizes | {column: float(math.floor(sizes[column] * factor) + 1)}
    less, greater = price_one(op, gpu, **words, **sizes), price_one(op, gpu, **words, **more)  # type: ignore[arg-type]
    assert greater.mid_us >= less.mid_us * (1 - 1e-9)


def above_the_floor(call: Call, gpu: Gpu) -> None:
    """No price is below what the data sheet's peak and bandwidth allow (caches hold small ones, Winograd saves 4)."""
    op, sizes, words = call
    device = rates(gpu)
    low = price_one(op, gpu, **words, **sizes).low_us  # type: ignore[arg-type]  # as above
    flops, moved = floor_work(op, sizes, words["dtype"])
    passes = {"backward": 2, "both": 3}.get(words["direction"], 1)
    peak = device.matrix[words["dtype"]] * device.ceiling(words["dtype"])
    assert low >= passes * flops / peak * (1 - 1e-9)
    if moved > 2.0 * device.cache_bytes:
        assert low >= moved / device.bandwidth * (1 - 1e-9)


def floor_work(op: str, c: dict[str, float], dtype: str) -> tuple[float, float]:
    """Arithmetic of one pass, and bytes that it cannot but move."""
    size = ITEM_SIZE[dtype]
    if op in ("gemm", "linear", "bmm"):
        b = c.get("b", 1.0)
        # a matrix times a vector is priced by its traffic, which is the floor of it
        vector = b == 1.0 and 1.0 in (c["m"], c["n"], c["k"])
        flops = 0.0 if vector else 2.0 * b * c["m"] * c["n"] * c["k"]
        return flops, b * (c["m"] * c["k"] + c["k"] * c["n"] + c["m"] * c["n"]) * size
    if op == "conv2d":  # 3 × 3, padded by 1, stride 1
        rows = c["n"] * c["h"] * c["w"]
        return 2.0 * rows * c["k"] * c["c"] * 9.0 / 4.0, rows * (c["c"] + c["k"]) * size
    if op in ("rnn", "gru", "lstm"):
        gates = {"rnn": 1.0, "gru": 3.0, "lstm": 4.0}[op]
        return c["layers"] * 2.0 * c["timesteps"] * c["batch"] * c["hidden"] ** 2 * gates, 0.0
    moved = {"softmax": 2.0 * c.get("rows", 0.0) * c.get("cols", 0.0) * size, "copy_d2d": 2.0 * c.get("bytes", 0.0)}
    moved["layernorm"] = moved["softmax"]
    return 0.0, moved.get(op, 2.0 * c.get("elements", 0.0) * size)


@settings(max_examples=300, deadline=None)
@given(calls(), DEVICES)
def test_a_price_is_finite_and_positive_for_any_shape(call: Call, gpu: Gpu) -> None:
    finite(call, gpu)


@settings(max_examples=600, deadline=None)
@given(calls(), DEVICES, st.data())
def test_more_work_never_costs_less(call: Call, gpu: Gpu, data: st.DataObject) -> None:
    rising(call, gpu, data.draw(st.sampled_from(GROWING[call[0]])), data.draw(FACTORS))


@pytest.mark.parametrize("op", ["softmax", "layernorm"])
@pytest.mark.parametrize("rows", [1, 3, 100, 128, 3000])
def test_more_columns_never_cost_less_however_few_the_rows(op: str, rows: int) -> None:
    """Fewer rows than the table begins with, too: MI100 with one row once cost 2 % less at 33 columns than at 32."""
    for name in ("Instinct MI100", "Tesla T4", "Tesla P4"):
        prices = [price_one(op, find_gpu(name), rows=rows, cols=int(2 ** (i / 8))).mid_us for i in range(24, 140)]
        assert prices == sorted(prices), name


@settings(max_examples=300, deadline=None)
@given(calls(), DEVICES)
def test_no_price_of_any_shape_is_below_the_roofline(call: Call, gpu: Gpu) -> None:
    above_the_floor(call, gpu)


@pytest.mark.nightly
@settings(max_examples=20000, deadline=None)
@given(calls(), DEVICES, st.data())
def test_many_more_shapes_keep_to_physics(call: Call, gpu: Gpu, data: st.DataObject) -> None:
    finite(call, gpu)
    above_the_floor(call, gpu)
    rising(call, gpu, data.draw(st.sampled_from(GROWING[call[0]])), data.draw(FACTORS))


@pytest.mark.parametrize("gpu", gpus(), ids=lambda g: g.name)
def test_no_price_is_below_what_the_data_sheet_allows(gpu: object) -> None:
    device = rates(gpu)  # type: ignore[arg-type]
    for size in (64.0, 1000.0, 30000.0):
        flops_us = 2.0 * size**3 / device.matrix["float32"] / device.ceiling("float32")
        assert price_one("gemm", gpu, m=size, n=size, k=size).low_us >= flops_us * (1 - 1e-9)  # type: ignore[arg-type]
    for moved in (1e9, 1e10):
        assert price_one("copy_d2d", gpu, bytes=moved).low_us >= 2.0 * moved / device.bandwidth * (1 - 1e-9)  # type: ignore[arg-type]
        assert price_one("add", gpu, elements=moved / 12).low_us >= moved / device.bandwidth * (1 - 1e-9)  # type: ignore[arg-type]


def test_a_device_that_nobody_measured_is_served_with_a_wider_interval() -> None:
    seen, unseen = find_gpu("A100-PCIE-40GB"), find_gpu("RTX 4090")
    for op, sizes in (
        ("linear", {"m": 4096, "n": 4096, "k": 4096}),
        ("add", {"elements": 1 << 26}),
        ("softmax", {"rows": 4096, "cols": 1000}),
    ):
        known, guessed = (price_one(op, gpu, **sizes) for gpu in (seen, unseen))
        assert guessed.high_us / guessed.low_us > known.high_us / known.low_us, op


def test_a_table_and_single_calls_agree_on_everything() -> None:
    rows = [
        {
            "op": op,
            "gpu": gpu,
            "dtype": dtype,
            "direction": direction,
            **{c: 37.0 * (i + 1) for c in GROWING.get(op, ()) if c not in KINDS},
            **FIXED.get(op, {}),
        }
        for op in OPERATIONS
        for gpu in ("Tesla T4", "H100", "Instinct MI210")
        for dtype in ("float32", "float16")
        for direction in OPERATIONS[op].directions
        for i in range(9)
    ]
    table = price(pl.DataFrame(rows, infer_schema_length=None))
    assert table["mid_us"].null_count() == 0
    for row, want in zip(table.iter_rows(named=True), rows, strict=True):
        words = {k: str(want[k]) for k in ("dtype", "direction")}
        sizes = {k: float(v) for k, v in want.items() if k not in ("op", "gpu", "dtype", "direction")}
        one = price_one(str(want["op"]), find_gpu(str(want["gpu"])), **words, **sizes)  # type: ignore[arg-type]
        assert (one.low_us, one.mid_us, one.high_us) == pytest.approx((row["low_us"], row["mid_us"], row["high_us"]), rel=1e-9)
