"""`predict` prices files of any length, keeps what it does not know, and never leaves half a file behind."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from breakeven.errors import InputError, UnknownDevice
from breakeven.workflows import predict as room
from breakeven.workflows.predict import predict, summary

OPS = "op,m,n,k,elements,note_of_mine,gpu\ngemm,64,64,64,,007,t4\nrelu,,,,1e6,,\nfft,,,,,x,\n"


def test_a_csv_comes_back_with_prices_and_its_own_columns_unchanged(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(OPS)
    done = predict(tmp_path / "ops.csv", "A100", tmp_path / "out.csv")
    assert (done.rows, done.unpriced, done.reasons) == (3, 1, (("unknown operation 'fft'", 1),))
    before, after = (pl.read_csv(tmp_path / f, infer_schema=False) for f in ("ops.csv", "out.csv"))
    assert after.select(before.columns).equals(before)
    assert [v is not None for v in after["mid_us"]] == [True, True, False]
    assert after["note"].to_list()[2] == "unknown operation 'fft'"


def test_parquet_comes_back_with_its_types(tmp_path: Path) -> None:
    table = pl.DataFrame({"op": ["add"] * 10, "elements": list(range(1, 11)), "mine": [[1, 2]] * 10})
    table.write_parquet(tmp_path / "ops.parquet")
    predict(tmp_path / "ops.parquet", "T4", tmp_path / "out.parquet")
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out.select(table.columns).equals(table)
    assert out["mid_us"].null_count() == 0


def test_batches_do_not_change_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame(
        {"op": ["add", "mul", "launch", "softmax"] * 250, "elements": range(1, 1001), "rows": range(1, 1001), "cols": [64] * 1000}
    )
    table.write_parquet(tmp_path / "ops.parquet")
    predict(tmp_path / "ops.parquet", "V100", tmp_path / "whole.csv")
    monkeypatch.setattr(room, "BATCH_ROWS", 97)
    predict(tmp_path / "ops.parquet", "V100", tmp_path / "pieces.csv")
    whole, pieces = pl.read_csv(tmp_path / "whole.csv"), pl.read_csv(tmp_path / "pieces.csv")
    assert pieces["elements"].equals(whole["elements"])
    assert (pieces["mid_us"] / whole["mid_us"] - 1).abs().max() < 1e-9  # type: ignore[operator]  # a float: the column is not empty


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "no such file"),
        ("a,b\n1,2\n", "has no column `op`"),
        ("", "cannot be read"),
        ("op,m\ngemm,1,2,3\n", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_priced_gets_one_clear_line(tmp_path: Path, content: str | None, complaint: str) -> None:
    if content is not None:
        (tmp_path / "ops.csv").write_text(content)
    with pytest.raises(InputError, match=complaint) as raised:
        predict(tmp_path / "ops.csv", "T4", tmp_path / "out.csv")
    assert "\n" not in str(raised.value)
    assert [p.name for p in tmp_path.iterdir() if p.name != "ops.csv"] == []


def test_an_unknown_device_for_the_table_is_refused_and_one_in_a_row_is_not(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text("op,gpu\nlaunch,voodoo\nlaunch,t4\n")
    with pytest.raises(UnknownDevice):
        predict(tmp_path / "ops.csv", "voodoo", None)
    assert predict(tmp_path / "ops.csv", None, None).unpriced == 1


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text("op\nlaunch\n")
    with pytest.raises(InputError, match="cannot be written"):
        predict(tmp_path / "ops.csv", "t4", tmp_path / "nowhere" / "out.csv")


def test_the_summary_counts_rows_and_reasons(tmp_path: Path) -> None:
    (tmp_path / "ops.csv").write_text(OPS)
    told = json.loads(summary(predict(tmp_path / "ops.csv", "A100", None)))
    assert told == {
        "schema": "breakeven/predict/1",
        "rows": 3,
        "unpriced": 1,
        "reasons": [{"reason": "unknown operation 'fft'", "rows": 1}],
    }
