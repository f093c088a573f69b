"""Rules of traces: each one fires where its cause is, and is silent where it is not."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.readers import made

from breakeven.diagnose.imported.evidence import TraceEvidence, evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.diagnose.imported.ranks import uneven_ranks
from breakeven.readers import read

Event = dict[str, Any]
STEPS = 4


def evidence(path: pathlib.Path, events: list[Event]) -> TraceEvidence:
    """Evidence on a trace of these events."""
    (trace,), _ = read([made.kineto(path, events)])
    return evidence_from(trace.timeline, trace.devices, trace.shapes)


def long_steps() -> list[Event]:
    """Kernels that take most of each step, one after another."""
    events = made.kineto_events(STEPS, loader_us=0)
    for at, kernel in enumerate(e for e in events if e.get("cat") == "kernel"):
        kernel.update(ts=1.0e6 + 40 + at * made.STEP_US / 3, dur=made.STEP_US / 3)
    return events


def x(cat: str, name: str, ts: float, dur: float, tid: int = 1, pid: int = 1, **args: Any) -> Event:
    """One complete event."""
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def renamed(cat: str, number: int, name: str) -> list[Event]:
    """The n-th event of a category in each step is called something else."""
    events = long_steps()
    for at, event in enumerate(e for e in events if e.get("cat") == cat):
        if at % made.KERNELS == number:
            event["name"] = name
    return events


def unfolded() -> list[Event]:
    """A convolution that unfolds its input."""
    events = renamed("kernel", 0, "void at::native::im2col_kernel<float>(long)")
    for at, event in enumerate(e for e in events if e.get("cat") == "cpu_op"):
        if at % made.KERNELS == 0:
            event["name"] = "aten::_slow_conv2d_forward"
    return events


def optimizer(operation: str, launches: int) -> list[Event]:
    """A step of the optimizer of so many launches, for which the device waits."""
    events = made.kineto_events(STEPS, loader_us=0)
    for step in range(STEPS):
        begin = 1.0e6 + step * made.STEP_US + 380
        events.append(x("user_annotation", "Optimizer.step#SGD.step", begin, 500))
        for i in range(launches):
            call, at = 10_000 + 100 * step + i, begin + 9 * i
            events += [
                x("cpu_op", operation, at, 8), x("cuda_runtime", "cudaLaunchKernel", at + 2, 4, correlation=call),
                x("kernel", "add_kernel", at + 10, 1, 7, 0, device=0, stream=7, correlation=call),
            ]  # fmt: skip
    return events


def graphs(call: str) -> list[Event]:
    """One call a step that launches three kernels with long pauses between them."""
    events: list[Event] = []
    for step in range(STEPS):
        at = 1.0e6 + step * made.STEP_US
        events += [
            x("user_annotation", f"ProfilerStep#{step}", at, made.STEP_US),
            x("cuda_runtime", call, at + 5, 10, correlation=step + 1),
        ]
        events += [x("kernel", f"k{i}", at + 50 + 300 * i, 100, 7, 0, device=0, stream=7, correlation=step + 1) for i in range(3)]
    return events


def gridded(blocks: int) -> list[Event]:
    """Products of so many thread blocks."""
    events = long_steps()
    for kernel in (e for e in events if e.get("cat") == "kernel"):
        kernel["args"]["grid"] = [blocks, 1, 1]
    return events


FIRES: dict[str, list[Callable[[], list[Event]]]] = {
    "cudnn_fallback": [unfolded],
    "optimizer_loop": [lambda: optimizer("aten::add_", 50)],
    "padding": [
        lambda: renamed("kernel", 1, "void cudnn::ops::nhwcAddPaddingKernel<float>()"),
        lambda: renamed("cpu_op", 1, "aten::constant_pad_nd"),
    ],
    "graph_launch": [lambda: graphs("cudaGraphLaunch"), lambda: graphs("hipGraphLaunch")],
    "occupancy": [lambda: gridded(20), lambda: gridded(120)],  # of 108 multiprocessors: a fifth; a second wave of 12
}
SILENT: dict[str, list[Callable[[], list[Event]]]] = {
    "cudnn_fallback": [long_steps, lambda: renamed("kernel", 0, "cudnn::engines_precompiled::implicit_gemm")],
    "optimizer_loop": [lambda: optimizer("aten::_foreach_add_", 50), lambda: optimizer("aten::add_", 4), long_steps],
    "padding": [long_steps, lambda: renamed("cpu_op", 1, "aten::addmm")],
    "graph_launch": [lambda: graphs("cudaLaunchKernel"), long_steps],
    "occupancy": [lambda: gridded(108), lambda: gridded(216), lambda: gridded(2000)],
}


@pytest.mark.parametrize(("rule", "case"), [(rule, i) for rule, cases in FIRES.items() for i in range(len(cases))])
def test_a_rule_fires_where_its_cause_is(tmp_path: pathlib.Path, rule: str, case: int) -> None:
    """The finding is there, worth more than 4 % of the step where it has a price, and no more than the step."""
    seen = evidence(tmp_path / "t.json", FIRES[rule][case]())
    found = {f.id: f for f in trace_findings(seen)}
    assert rule in found
    price = found[rule].price_ms
    assert price is None or 0.04 * seen.step_ms.mid <= price.mid <= seen.step_ms.mid
    assert price is None or price.low <= price.mid <= price.high


@pytest.mark.parametrize(("rule", "case"), [(rule, i) for rule, cases in SILENT.items() for i in range(len(cases))])
def test_a_rule_is_silent_where_its_cause_is_not(tmp_path: pathlib.Path, rule: str, case: int) -> None:
    """Nothing is said of what is in order."""
    seen = evidence(tmp_path / "t.json", SILENT[rule][case]())
    assert rule not in {f.id for f in trace_findings(seen)}


def ranks(folder: pathlib.Path, late: int | None, count: int = 4) -> list[tuple[int | None, TraceEvidence]]:
    """Ranks that exchange at the end of each step; one of them computes for longer and waits the less."""
    found: list[tuple[int | None, TraceEvidence]] = []
    for rank in range(count):
        own = 700 if rank == late else 300
        events: list[Event] = []
        for step in range(STEPS):
            at = 1.0e6 + step * made.STEP_US
            events += [
                x("user_annotation", f"ProfilerStep#{step}", at, made.STEP_US),
                x("kernel", "ampere_sgemm", at + 10, own, 7, 0, device=0, stream=7),
                x("kernel", "ncclDevKernel_AllReduce_Sum_f32", at + 10 + own, 900 - own, 9, 0, device=0, stream=9),
            ]
        found.append((rank, evidence(folder / f"{rank}.json", events)))
    return found


def test_a_slow_rank_is_named(tmp_path: pathlib.Path) -> None:
    """The others wait 0.4 ms of each step for it; over all four ranks that is 0.3 ms."""
    found = uneven_ranks(ranks(tmp_path, late=2))
    assert found is not None
    assert found.price_ms is not None
    assert found.price_ms.mid == pytest.approx(0.3, rel=0.05)
    assert "1 rank comes last (2)" in found.sentence


def test_even_ranks_are_no_finding(tmp_path: pathlib.Path) -> None:
    """All of them wait the same."""
    assert uneven_ranks(ranks(tmp_path, late=None)) is None


def test_a_single_rank_is_no_finding(tmp_path: pathlib.Path) -> None:
    """There is nothing to compare it with."""
    assert uneven_ranks(ranks(tmp_path, late=0, count=1)) is None
