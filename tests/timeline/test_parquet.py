"""Both tables to Parquet and back."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from breakeven.errors import InputError
from breakeven.timeline import (
    Lane,
    OpStreamBuilder,
    Origin,
    Site,
    TimelineBuilder,
    stream_from_parquet,
    stream_to_parquet,
    timeline_from_parquet,
    timeline_to_parquet,
)
from breakeven.timeline.opstream import Call, attributes


def test_a_timeline_comes_back_as_it_was(tmp_path: Path) -> None:
    builder = TimelineBuilder()
    lane = builder.lane(Lane("host", "cpu", "main"))
    site = builder.site(Site("train.py", 31, "loss.item()"))
    first = builder.add("wait", kind="sync", lane=lane, start_ns=3, duration_ns=4, site=site, cause="sync", bytes_=7)
    builder.add("x", kind="host", lane=lane, start_ns=9, duration_ns=0, link=first)
    made = builder.build(Origin("measured", {"cpu": "x", "cores": 2}, {"torch": "2.13.0"}))
    timeline_to_parquet(made, tmp_path / "t.parquet")
    back = timeline_from_parquet(tmp_path / "t.parquet")
    assert back.events.equals(made.events)
    assert (back.lanes, back.origin, back.sites) == (made.lanes, made.origin, made.sites)


def test_a_stream_comes_back_as_it_was(tmp_path: Path) -> None:
    builder = OpStreamBuilder()
    call = Call("aten::addmm", "compute", "cuda:0", ((4, 8), (8, 2)), ("float32", "float32"), (False, True), ((4, 2),), "float32")
    builder.add(call, step=0, phase="forward", site=Site("train.py", 3), host_ns=50)
    builder.add(Call("copy::d2h", "copy", "cuda:0", attributes=attributes(bytes=4)), step=1, waits_for=1)
    made = builder.build(steps=2, batch=4, warnings=["one"])
    stream_to_parquet(made, tmp_path / "calls.parquet", tmp_path / "rows.parquet")
    back = stream_from_parquet(tmp_path / "calls.parquet", tmp_path / "rows.parquet")
    assert back.calls.equals(made.calls)
    assert back.rows.equals(made.rows)
    assert (back.sites, back.steps, back.unit, back.batch, back.warnings) == (made.sites, 2, "step", 4, ("one",))


@pytest.mark.parametrize("what", ["missing", "no parquet", "other columns", "no head"])
def test_what_is_no_timeline_is_told_in_one_line(what: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    if what == "no parquet":
        path.write_text("hello")
    elif what == "other columns":
        pl.DataFrame({"a": [1]}).write_parquet(path)
    elif what == "no head":
        timeline_to_parquet(TimelineBuilder().build(Origin("measured")), path)
        pl.read_parquet(path).write_parquet(path)
    with pytest.raises(InputError) as told:
        timeline_from_parquet(path)
    assert str(path) in str(told.value)
    assert "\n" not in str(told.value)
