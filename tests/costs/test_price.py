"""Prices follow the vocabulary, and rows that cannot be priced never stop the others."""

from __future__ import annotations

import polars as pl
import pytest

from breakeven.costs.price import price, price_one
from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu

T4 = find_gpu("t4")


def test_rows_that_cannot_be_priced_say_why_and_leave_the_others_alone() -> None:
    table = pl.DataFrame(
        {
            "op": ["gemm", "gemm", "gem", "gemm", "relu", "gemm"],
            "m": ["64", "64", "64", "0", "", "64"], "n": ["64"] * 6, "k": ["64", "", "64", "64", "64", "64"],
            "elements": ["", "", "", "", "1000", ""], "gpu": ["t4", "t4", "t4", "t4", "", "voodoo"],
        }
    )  # fmt: skip
    priced = price(table, T4)
    assert priced["mid_us"].is_not_null().to_list() == [True, False, False, False, True, False]
    notes = priced["note"].to_list()
    assert [n is None for n in notes] == [True, False, False, False, True, False]
    assert "needs a finite k" in notes[1]
    assert "unknown operation 'gem'" in notes[2]
    assert "needs a finite m" in notes[3]
    assert "voodoo" in notes[5]


def test_the_rest_of_a_row_comes_back_unchanged() -> None:
    table = pl.DataFrame({"op": ["launch", "launch"], "mine": ["007", None], "n": [3, 4]})
    assert price(table, T4).select(table.columns).equals(table)


def test_one_price_equals_its_row() -> None:
    table = pl.DataFrame(
        {
            "op": ["lstm"] * 20,
            "hidden": [100 + i for i in range(20)],
            "batch": [8] * 20,
            "timesteps": [30] * 20,
            "input": [16] * 20,
        }
    )
    rows = price(table, T4)
    for i, row in enumerate(rows.iter_rows(named=True)):
        one = price_one("lstm", T4, hidden=100 + i, batch=8, timesteps=30, input=16)
        assert (one.low_us, one.mid_us, one.high_us) == pytest.approx((row["low_us"], row["mid_us"], row["high_us"]), rel=1e-9)
        assert one.limited_by == row["limited_by"]


def test_a_call_outside_the_vocabulary_is_refused() -> None:
    with pytest.raises(InputError, match="unknown operation"):
        price_one("gem", T4, m=1, n=1, k=1)
    with pytest.raises(InputError, match="no column q"):
        price_one("gemm", T4, m=1, n=1, k=1, q=1)
    with pytest.raises(InputError, match="needs a finite k"):
        price_one("gemm", T4, m=1, n=1)
    with pytest.raises(InputError, match="no float64 rate"):
        price_one("gemm", find_gpu("m1"), m=1, n=1, k=1, dtype="float64")
