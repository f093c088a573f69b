"""A traced formula is the formula: the same numbers, the same refusals, whatever rare way a call takes."""

from __future__ import annotations

import random

import polars as pl
import pytest

from breakeven.costs.operations import OPERATIONS
from breakeven.costs.price import price, price_one
from breakeven.costs.single import WRITTEN_OUT, Single, single
from breakeven.costs.traced import Name, Steps, Tracing, function
from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu

GPUS = ("Tesla T4", "H100 PCIe", "Tesla P100-PCIE-16GB", "Instinct MI210", "GTX TITAN X (Maxwell)", "RTX 4090")


def shapes(op: str, draw: random.Random) -> dict[str, float]:
    """Sizes of one call: from 1 to 2^31, filters and switches small."""
    found = {}
    for column, default in OPERATIONS[op].columns.items():
        if column in ("inputs", "pinned"):
            found[column] = 1.0
        elif default is not None and column != "input":
            found[column] = float(draw.choice((0, 1, 2)))
        elif column in ("r", "s", "layers"):
            found[column] = float(draw.choice((1, 2, 3, 5)))
        else:
            found[column] = float(draw.choice((1, round(2 ** draw.uniform(0, 12)), round(2 ** draw.uniform(0, 31)))))
    for column in ("stride_h", "stride_w", "layers"):
        if column in found:
            found[column] = max(found[column], 1.0)
    return found


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("op", [op for op in sorted(OPERATIONS) if OPERATIONS[op].columns])
def test_many_single_calls_are_priced_as_a_table_prices_them(op: str, gpu: str) -> None:
    draw, device = random.Random(f"{op} {gpu}"), find_gpu(gpu)
    for direction in OPERATIONS[op].directions:
        dtype = draw.choice(("float32", "float16"))
        calls = [shapes(op, draw) for _ in range(40)]
        table = price(pl.DataFrame([{"op": op, "dtype": dtype, "direction": direction, **c} for c in calls]), device)
        for call, row in zip(calls, table.iter_rows(named=True), strict=True):
            one = price_one(op, device, dtype=dtype, direction=direction, **call)  # type: ignore[arg-type]  # sizes alone
            want = (row["low_us"], row["mid_us"], row["high_us"])
            assert (one.low_us, one.mid_us, one.high_us) == pytest.approx(want, rel=1e-12), call
            assert one.limited_by == row["limited_by"], call


def test_columns_left_out_are_traced_as_their_defaults() -> None:
    device = find_gpu("t4")
    for extra in ({}, {"input": 64.0}, {"input": 0.0}, {"layers": 2.0, "input": 8.0}):
        given = [{"hidden": 64.0 + i, "batch": 8.0, "timesteps": 10.0, **extra} for i in range(2 * WRITTEN_OUT)]
        rows = price(pl.DataFrame([{"op": "lstm", **g} for g in given]), device)["mid_us"].to_list()
        assert [price_one("lstm", device, **g).mid_us for g in given] == pytest.approx(rows, rel=1e-12)  # type: ignore[arg-type]


def test_a_call_is_refused_after_tracing_as_before() -> None:
    device = find_gpu("t4")
    for _ in range(2 * WRITTEN_OUT):
        price_one("softmax", device, rows=10, cols=10)
    for wrong in (
        {"rows": 0, "cols": 10}, {"rows": float("nan"), "cols": 10}, {"rows": float("inf"), "cols": 10}, {"rows": 10},
        {"rows": None, "cols": 10},
    ):  # fmt: skip
        with pytest.raises(InputError, match="softmax needs a finite"):
            price_one("softmax", device, **wrong)
    with pytest.raises(InputError, match="no column q"):
        price_one("softmax", device, rows=10, cols=10, q=3)


def test_a_kind_is_traced_once_it_has_been_asked_for_often_and_not_before() -> None:
    one = single("add", find_gpu("t4"), "float32", "forward", False, ("elements",), (None, None))
    assert isinstance(one, Single)
    fresh = Single(one._task, ("elements",))
    for calls in range(1, WRITTEN_OUT + 1):
        assert not fresh._traces, calls
        fresh.price({"elements": 100.0 * calls})
    assert fresh._traces


def test_a_trace_makes_each_step_once_and_only_those_that_are_needed() -> None:
    steps = Steps()
    a, b = Name(steps, "a"), Name(steps, "b")
    x = Tracing(steps, True)
    unused = x.exp(a)
    assert isinstance(unused, Name)
    square = (a + b) * (a + b)
    made = function(steps, {"a": 0.0, "b": 1.0}, (square, x.maximum(a, b), x.where(a > b, a, 7.0), 2))
    assert made(3, 4) == (49.0, 4.0, 7.0, 2)
    assert made(9, 4) == (169.0, 9.0, 9.0, 2)
    assert made(-1, 4) is None
    assert made(1, 0.5) is None
    assert made(5000.0, 1.0) is not None  # exp(5000) is not worked out


def test_a_guarded_trace_gives_nothing_where_the_rare_way_is_taken() -> None:
    steps = Steps()
    a = Name(steps, "a")
    x = Tracing(steps, False)
    assert x.some(a == 1.0) is False
    made = function(steps, {"a": 0.0}, (a * 2.0, 0.0, 0.0, 0))
    assert made(1.0) is None
    assert made(2.0) == (4.0, 0.0, 0.0, 0)


def test_a_name_has_no_truth_of_its_own() -> None:
    with pytest.raises(TypeError, match="cannot be traced"):
        bool(Name(Steps(), "a"))
