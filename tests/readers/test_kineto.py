"""PyTorch's profiler JSON becomes a Timeline, whatever its layout and clock."""

from __future__ import annotations

import gzip
import io
import json
import pathlib
import tarfile

import polars as pl
import pytest

from breakeven.errors import InputError, NoAnswer
from breakeven.readers import Trace, read
from breakeven.timeline import queries, schema
from breakeven.timeline.schema import Kind
from tests.readers import made

BUSY_NS, SPAN_NS = 9 * 50_000, 2_270_000


def check(path: pathlib.Path, *, lost: int = 0, busy: int = BUSY_NS, steps: int = 3) -> Trace:
    """One trace of the made kind: its sums are those of the events that were written."""
    (trace,), warnings = read([path])
    device = queries.devices(trace.timeline)[0]
    assert trace.source == "kineto"
    assert queries.busy(trace.timeline, device).total_ns == busy
    assert queries.steps(trace.timeline).height == steps
    assert (not warnings) == (not lost), warnings
    return trace


def test_an_object_of_events_is_read(tmp_path: pathlib.Path) -> None:
    """Kernels, calls, operations and marks lie on their lanes, and each kernel links to its launch."""
    trace = check(made.kineto(tmp_path / "t.json"))
    events = trace.timeline.events
    kernels = events.filter(schema_is(Kind.COMPUTE))
    launches = events[kernels[schema.EVENT_LINK.name].to_list()]
    assert set(launches[schema.EVENT_NAME.name]) == {"cudaLaunchKernel"}
    assert trace.devices["cuda:0"].name == "NVIDIA A100-SXM4-80GB"
    assert trace.entries == len(made.kineto_events())
    assert queries.idle(trace.timeline, "cuda:0").total_ns == SPAN_NS - BUSY_NS


def schema_is(kind: str) -> pl.Expr:
    return pl.col(schema.EVENT_KIND.name) == kind


def test_a_bare_list_as_torch_1_8_wrote_it_is_read(tmp_path: pathlib.Path) -> None:
    """Categories are capital, threads are text, streams are named."""
    old = {"cpu_op": "Operator", "user_annotation": "Operator", "kernel": "Kernel", "cuda_runtime": "Runtime"}
    events = made.kineto_events()
    for event in events:
        event["cat"] = old.get(event.get("cat", ""), "")
        event["tid"] = f"stream {event['tid']}" if event["cat"] == "Kernel" else str(event["tid"])
    path = tmp_path / "t.json"
    path.write_text(json.dumps(events))
    check(path)


@pytest.mark.parametrize(
    "clock", [1_711_964_646_000_000.0, 4_093_286_438.125, 0.5], ids=["since 1970", "since boot", "from zero"]
)
def test_the_clock_may_begin_anywhere(tmp_path: pathlib.Path, clock: float) -> None:
    """Microseconds since 1970 lose nothing."""
    check(made.kineto(tmp_path / "t.json", made.kineto_events(clock=clock)))


@pytest.mark.parametrize("form", ["gz", "two members", "tar", "tar.gz", "folder", "no suffix"])
def test_the_format_is_found_by_content(tmp_path: pathlib.Path, form: str) -> None:
    """Names say nothing: compressed, archived, or without a suffix."""
    text = made.kineto(tmp_path / "t.json").read_bytes()
    (tmp_path / "t.json").unlink()
    path = tmp_path / "trace"
    if form == "gz":
        path.write_bytes(gzip.compress(text))
    elif form == "two members":
        path.write_bytes(gzip.compress(text[:500]) + gzip.compress(text[500:]))
    elif form.startswith("tar"):
        with tarfile.open(path, "w:gz" if form.endswith("gz") else "w") as tar:
            info = tarfile.TarInfo("run/rank0.json")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    elif form == "folder":
        path.mkdir()
        (path / "rank0.json").write_bytes(text)
    else:
        path.write_bytes(text)
    check(path)


def test_ranks_of_a_folder_are_traces_of_their_own(tmp_path: pathlib.Path) -> None:
    """Each file says its rank."""
    for rank in range(3):
        made.kineto(tmp_path / f"{rank}.json", distributedInfo={"rank": rank, "world_size": 3})
    traces, _ = read([tmp_path])
    assert [(t.rank, t.world_size) for t in traces] == [(0, 3), (1, 3), (2, 3)]


def test_large_files_are_read_block_by_block(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a block ends, no event is lost or read twice."""
    path = made.kineto(tmp_path / "t.json", made.kineto_events(steps=40))
    (whole,), _ = read([path])
    for size in (257, 1000, 4096):
        monkeypatch.setattr("breakeven.readers.profiles.files.BLOCK", size)
        (pieces,), warnings = read([path])
        assert warnings == ()
        assert pieces.entries == whole.entries
        assert pieces.timeline.events.equals(whole.timeline.events)


def test_a_graph_shares_one_id_among_its_kernels(tmp_path: pathlib.Path) -> None:
    """All of them link to the one launch."""
    events = made.kineto_events(steps=1)
    for event in events:
        if "correlation" in event.get("args", {}):
            event["args"]["correlation"] = 77
    (trace,), _ = read([made.kineto(tmp_path / "t.json", events)])
    kernels = trace.timeline.events.filter(schema_is(Kind.COMPUTE))
    assert (kernels[schema.EVENT_LINK.name] >= 0).all()


BROKEN = {
    "negative length": (lambda e: e.update(dur=-5), 1),
    "no start": (lambda e: e.update(ts=None), 1),
    "text as time": (lambda e: e.update(ts=str(e["ts"])), 0),
    "no arguments": (lambda e: e.update(args=[]), 0),
    "name is a number": (lambda e: e.update(name=7), 0),
}


@pytest.mark.parametrize("what", BROKEN)
def test_one_broken_event_costs_only_itself(tmp_path: pathlib.Path, what: str) -> None:
    """The others keep their sums, and what was lost is counted in a warning."""
    events = made.kineto_events()
    change, lost = BROKEN[what]
    change(next(e for e in events if e.get("cat") == "kernel"))
    (trace,), warnings = read([made.kineto(tmp_path / "t.json", events)])
    kernels = sum(
        queries.spans(trace.timeline, queries.on_device(trace.timeline, d)).total_ns for d in queries.devices(trace.timeline)
    )
    assert kernels == BUSY_NS - 50_000 * lost
    assert bool(warnings) == bool(lost)


TEXT = {
    "NaN": lambda t: t.replace(b'"dur": 50,', b'"dur": NaN,', 1),
    "no UTF-8": lambda t: t.replace(b"aten::mm", b"aten::\xff\xfe"),
    "cut off": lambda t: t[: len(t) * 2 // 3],
    "nested too deeply": lambda t: t.replace(b'"grid": [64, 1, 1]', b'"grid": ' + b"[" * 5000 + b"]" * 5000, 1),
    "a byte order mark": lambda t: b"\xef\xbb\xbf" + t,
    "numbers without end": lambda t: t.replace(b'"dur": 50,', b'"dur": 1' + b"0" * 400 + b",", 1),
}


@pytest.mark.parametrize("what", TEXT)
def test_broken_text_costs_only_what_is_broken(tmp_path: pathlib.Path, what: str) -> None:
    """Most kernels are still there."""
    path = made.kineto(tmp_path / "t.json")
    path.write_bytes(TEXT[what](path.read_bytes()))
    (trace,), _ = read([path])
    assert queries.busy(trace.timeline, "cuda:0").total_ns >= BUSY_NS // 3


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", InputError), (b"{}", InputError), (b'{"a": 1}', InputError), (b"[]", NoAnswer), (b'{"traceEvents": []}', NoAnswer),
     (b"hello", InputError), (b"PK\x03\x04", InputError), (b"\x80\x04.", InputError), (b"\x1f\x8b", InputError)],
)  # fmt: skip
def test_what_is_no_trace_is_refused_in_one_line(tmp_path: pathlib.Path, content: bytes, error: type[Exception]) -> None:
    """The message names the file."""
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(error, match=r"t\.json") as caught:
        read([path])
    assert "\n" not in str(caught.value)


def test_what_expands_without_end_is_refused(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is nearly all blanks stops early."""
    monkeypatch.setattr("breakeven.readers.profiles.files._SUSPICIOUS", 1 << 20)
    path = tmp_path / "t.json"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (8 << 20) + b"]}"))
    with pytest.raises(InputError, match="times its size"):
        read([path])
