"""Nsight Systems exports and XLA profiles become Timelines."""

from __future__ import annotations

import json
import pathlib
import sqlite3

import pytest

from breakeven.errors import InputError, NoAnswer
from breakeven.readers import read
from breakeven.readers.profiles.protobuf import WireError, fields
from breakeven.timeline import queries, schema
from tests.readers import made


def test_an_export_of_nsight_systems_is_read(tmp_path: pathlib.Path) -> None:
    """Ranges named as steps are steps; kernels and copies keep their sums and link to their calls."""
    (trace,), warnings = read([made.nsys(tmp_path / "r.sqlite")])
    assert (trace.source, trace.devices["cuda:0"].name, warnings) == ("nsys", "NVIDIA H100", ())
    assert queries.busy(trace.timeline, "cuda:0").total_ns == 3 * 300 + 300
    assert queries.steps(trace.timeline)[schema.EVENT_NAME.name].to_list() == ["step 0", "step 1", "step 2"]
    assert int((trace.timeline.events[schema.EVENT_LINK.name] >= 0).sum()) == 3


@pytest.mark.parametrize("table", ["CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS", "TARGET_INFO_GPU", "META_DATA_EXPORT"])
def test_a_table_may_be_missing(tmp_path: pathlib.Path, table: str) -> None:
    """The others are read."""
    (trace,), _ = read([made.nsys(tmp_path / "r.sqlite", without=frozenset({table}))])
    assert queries.busy(trace.timeline, "cuda:0").total_ns >= 900


def test_a_view_is_not_run(tmp_path: pathlib.Path) -> None:
    """A query that a file brings along is not a table, and is left alone."""
    path = made.nsys(tmp_path / "r.sqlite", without=frozenset({"NVTX_EVENTS"}))
    with sqlite3.connect(path) as db:
        db.execute("CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    db.close()
    (trace,), _ = read([path])
    assert queries.busy(trace.timeline, "cuda:0").total_ns == 1200


def test_another_database_is_refused(tmp_path: pathlib.Path) -> None:
    """It says that it is none of Nsight Systems; one without events says that there is no answer."""
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE users (name TEXT)")
    db.close()
    with pytest.raises(InputError, match="no export of Nsight Systems"):
        read([tmp_path / "other.sqlite"])
    with sqlite3.connect(tmp_path / "empty.sqlite") as db:
        db.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    db.close()
    with pytest.raises(NoAnswer):
        read([tmp_path / "empty.sqlite"])


def test_an_xplane_is_read(tmp_path: pathlib.Path) -> None:
    """Streams are the device's time, derived lines are not; annotations with a number are steps."""
    (trace,), _ = read([made.xplane(tmp_path / "t.xplane.pb")])
    assert trace.source == "xprof"
    assert queries.busy(trace.timeline, "cuda:0").total_ns == 600
    assert queries.steps(trace.timeline)[schema.EVENT_NAME.name].to_list() == ["train 0", "train 1"]
    assert queries.steps(trace.timeline)[schema.EVENT_DURATION.name].to_list() == [900, 900]


@pytest.mark.parametrize("data", [b"\x0a\xff", b"\x0a" + b"\xff" * 9 + b"\x7f", b"\x0b", b"\x08"])
def test_a_message_that_is_none_is_refused(data: bytes) -> None:
    """Lengths beyond the end, numbers without one, and types that do not exist."""
    with pytest.raises(WireError):
        list(fields(memoryview(data)))


def test_a_start_that_fits_no_clock_is_left_out(tmp_path: pathlib.Path) -> None:
    """A microsecond count that is no whole number of nanoseconds in 64 bits."""
    events = [
        {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/host:CPU"}},
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/device:GPU:0"}},
        {"ph": "M", "name": "thread_name", "pid": 2, "tid": 1, "args": {"name": "Stream #7(Compute)"}},
        {"ph": "X", "name": "call", "pid": 1, "tid": 1, "ts": 1.0, "dur": 5.0},
        {"ph": "X", "name": "call", "pid": 1, "tid": 1, "ts": 1e306, "dur": 5.0},
        {"ph": "X", "name": "gemm", "pid": 2, "tid": 1, "ts": 3.0, "dur": 5.0},
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    (trace,), warnings = read([path])
    assert (len(trace.timeline), len(warnings)) == (2, 1)
