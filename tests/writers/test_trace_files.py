"""Timelines written as trace files keep what they hold."""

from __future__ import annotations

import gzip
import json
import pathlib

import pytest

from breakeven.readers import read
from breakeven.simulate import plain, run
from breakeven.timeline import Timeline, queries, schema
from breakeven.workflows.minimise import MOST_BYTES
from breakeven.workflows.trace import TraceRequest, trace
from breakeven.writers import to_chrome, to_speedscope
from tests.readers import made

#: What a reader must find again, as (name, kind, start, length) of every event.
COLUMNS = [c.name for c in (schema.EVENT_NAME, schema.EVENT_KIND, schema.EVENT_START, schema.EVENT_DURATION)]


def again(timeline: Timeline, folder: pathlib.Path) -> Timeline:
    """Written as Chrome JSON and read back."""
    path = folder / "again.json"
    path.write_bytes(to_chrome(timeline))
    (found,), warnings = read([path])
    assert warnings == ()
    return found.timeline


def test_an_imported_timeline_comes_back(tmp_path: pathlib.Path) -> None:
    """Names, kinds and times of all events, and every link."""
    (first,), _ = read([made.kineto(tmp_path / "t.json")])
    second = again(first.timeline, tmp_path)
    assert sorted(second.events.select(COLUMNS).rows()) == sorted(first.timeline.events.select(COLUMNS).rows())
    for one in (first.timeline, second):
        linked = one.events.filter(one.events[schema.EVENT_LINK.name] >= 0)
        assert linked.height == 9


def test_a_simulated_timeline_comes_back(tmp_path: pathlib.Path) -> None:
    """Its device is as busy, and its steps as long."""
    first = run(plain([10_000] * 6, [30_000] * 6, step=[0, 0, 1, 1, 2, 2]))
    second = again(first, tmp_path)
    assert queries.busy(second, "cuda:0").total_ns == queries.busy(first, "cuda:0").total_ns
    lengths = [queries.steps(t)[schema.EVENT_DURATION.name].to_list() for t in (first, second)]
    assert lengths[0] == lengths[1]


def test_speedscope_opens_and_closes_in_order(tmp_path: pathlib.Path) -> None:
    """Every lane is one profile whose brackets match."""
    (one,), _ = read([made.kineto(tmp_path / "t.json")])
    document = json.loads(to_speedscope(one.timeline))
    assert document["$schema"].startswith("https://www.speedscope.app")
    for profile in document["profiles"]:
        stack: list[int] = []
        at = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= at
            at = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert stack == []


def test_a_minimised_trace_gives_the_same_verdict_and_no_name(tmp_path: pathlib.Path) -> None:
    """Small, without the program's own names, and with the same finding first."""
    events = made.kineto_events(steps=5)
    for event in events:
        if event.get("name") == "aten::mm":
            event["name"] = "secret_project::step"
    source = made.kineto(tmp_path / "t.json", events)
    report, small = trace(TraceRequest((source,), minimise=True))
    assert small is not None
    assert len(small) <= MOST_BYTES
    assert b"secret" not in gzip.decompress(small)
    (tmp_path / "small").write_bytes(small)
    answer, _ = trace(TraceRequest((tmp_path / "small",)))
    assert [f.id for f in answer.findings][:1] == [f.id for f in report.findings][:1]


def test_a_trace_without_steps_that_is_too_large_is_cut_in_half_until_it_fits(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stretch of it, with the same finding first."""
    events = [e for e in made.kineto_events(steps=2) if not str(e.get("name")).startswith("ProfilerStep")]
    source = made.kineto(tmp_path / "t.json", events)
    report, whole = trace(TraceRequest((source,), minimise=True))
    assert report.steps == ()
    assert whole is not None
    monkeypatch.setattr("breakeven.workflows.minimise.MOST_BYTES", len(whole) - 1)
    _, small = trace(TraceRequest((source,), minimise=True))
    assert small is not None
    assert len(small) < len(whole)
    (tmp_path / "small").write_bytes(small)
    answer, _ = trace(TraceRequest((tmp_path / "small",)))
    assert 0 < (answer.device_busy_ms or 0) < (report.device_busy_ms or 0)
    assert [f.id for f in answer.findings][:1] == [f.id for f in report.findings][:1]
