"""What a Kineto trace says about the host that issued its work (read for `fit_host.py` alone; it keeps no timeline)."""

from __future__ import annotations

import gzip
import json
import statistics
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from breakeven.costs.host_classes import host_class
from breakeven.costs.works import TABLES
from breakeven.costs.works.free import FREE
from breakeven.costs.works.records import words

OPERATIONS = ("cpu_op", "Operator")
RUNTIME = ("cuda_runtime", "cuda_driver", "Runtime")
_LEAST = 0.25  # of an operation's recorded time at least this is its own, however many events it holds
LONG_GAP_US = 100.0  # longer pauses between operations are the user's own work, or a wait

#: Composite operations: a dispatch mode sees what is inside them, not them.
COMPOSITES = frozenset(
    words(
        """
        linear matmul conv1d conv2d conv3d layer_norm batch_norm _batch_norm_impl_index instance_norm group_norm to contiguous
        reshape softmax log_softmax dropout max_pool2d flatten chunk item nll_loss cross_entropy_loss cross_entropy embedding_bag
        type_as expand_as one_hot scaled_dot_product_attention feature_dropout einsum tensor_split is_nonzero nll_loss_nd
        """
    )
)
_KNOWN = frozenset(name for table in TABLES for name in table) | FREE


@dataclass
class Node:
    """One host event with what lies inside it."""

    name: str
    start: float
    end: float
    runtime: bool
    parent: int
    args: dict[str, Any] = field(default_factory=dict)  # JSON values
    inside_runtime: float = 0.0
    inside_events: int = 0
    inside_launches: int = 0

    @property
    def length(self) -> float:
        """Microseconds."""
        return self.end - self.start


@dataclass
class Thread:
    """One thread's recorded operations in order, and the time between them."""

    operations: list[Node]
    gaps: list[tuple[float, int]]  # length, profiled events that begin or end in it
    nodes: int
    engine_us: float  # time inside the engine's functions that is in no recorded operation
    engine_events: int
    engine_operations: int


@dataclass
class Observed:
    """Everything of one trace."""

    threads: list[Thread]
    calls: dict[str, list[float]]
    counts: dict[str, int]
    accumulations: int

    def class_us(self, event_us: float) -> dict[str, float]:
        """Trimmed mean host time per class, runtime calls and the profiler's cost of nested events taken out."""
        times: dict[str, list[float]] = defaultdict(list)
        for thread in self.threads:
            for node in thread.operations:
                label = host_class(node.name)
                if label != "foreach":
                    own = node.length - node.inside_runtime
                    times[label].append(max(_LEAST * own, own - event_us * node.inside_events))
        return {label: _trimmed(values) for label, values in times.items() if len(values) >= 5 and label != "question"}

    def gap_us(self, event_us: float) -> float | None:
        """Mean pause between two operations that follow each other closely, without the profiler's cost; forward threads."""
        gaps = [
            max(0.0, gap - event_us * events)
            for thread in self.threads
            if thread.engine_operations < len(thread.operations) / 2
            for gap, events in thread.gaps
            if gap < LONG_GAP_US
        ]
        return statistics.fmean(gaps) if len(gaps) >= 50 else None

    def gaps_before_us(self, event_us: float, *, engine: bool) -> dict[str, float]:
        """Trimmed mean pause before an operation of each class, on threads that Python or the autograd engine issues from."""
        times: dict[str, list[float]] = defaultdict(list)
        for thread in self.threads:
            if (thread.engine_operations >= len(thread.operations) / 2) != engine:
                continue
            for node, (gap, events) in zip(thread.operations[1:], thread.gaps, strict=True):
                if gap < LONG_GAP_US:
                    times[host_class(node.name)].append(max(0.0, gap - event_us * events))
        return {label: _trimmed(gaps) for label, gaps in times.items() if len(gaps) >= 10}

    def node_us(self, event_us: float) -> float | None:
        """Engine's own time (bookkeeping, pauses between nodes) per operation that it issues."""
        threads = [t for t in self.threads if t.engine_operations >= 40]
        if not threads:
            return None
        spent = sum(t.engine_us - event_us * t.engine_events for t in threads)
        return max(0.0, spent) / sum(t.engine_operations for t in threads)

    def call_us(self, kind: str) -> float | None:
        """Median length of a launch or copy call; a low quantile of a synchronising one (the rest is waiting)."""
        times = sorted(self.calls[kind])
        if len(times) < 10:
            return None
        return times[len(times) // (10 if kind == "sync" else 2)]

    def foreach_us(self, event_us: float, base_us: float) -> float | None:
        """Host time of a list operation per tensor, beyond that of one operation.

        Lists hold a model's parameters, whose number is that of the engine's accumulations per optimizer step.
        """
        lists: dict[str, list[float]] = defaultdict(list)
        for thread in self.threads:
            for node in thread.operations:
                if host_class(node.name) == "foreach":
                    lists[node.name].append(node.length - node.inside_runtime - event_us * node.inside_events)
        if not lists or not self.accumulations:
            return None
        steps = min(len(times) for times in lists.values())
        tensors = self.accumulations / steps
        in_place = [t for name, times in lists.items() if name.endswith("_") for t in times]
        return max(0.0, statistics.median(in_place) - base_us) / tensors if in_place and tensors > 4 else None

    def totals(
        self, event_us: float, profile: Mapping[str, float], gap: float, node: float, launch: float
    ) -> tuple[float, float]:
        """Issuing time of all close-following operations: as recorded, and as the model says for a host of scale 1."""
        real = said = 0.0
        for thread in self.threads:
            engine = thread.engine_operations >= len(thread.operations) / 2
            for op in thread.operations:
                label = host_class(op.name)
                if label in profile:
                    own = op.length - op.inside_runtime
                    real += max(_LEAST * own, own - event_us * op.inside_events) + op.inside_launches * (
                        self.call_us("launch") or 0.0
                    )
                    said += profile[label] + launch * op.inside_launches
            if engine:
                real += max(0.0, thread.engine_us - event_us * thread.engine_events)
                said += node * thread.engine_operations
            else:
                close = [max(0.0, g - event_us * n) for g, n in thread.gaps if g < LONG_GAP_US]
                real += sum(close)
                said += gap * len(close)
        return real, said


def observe(path: Path) -> Observed:
    """Read one trace (the first of an archive)."""
    by_thread: dict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)
    for event in _events(path):
        if event.get("ph") == "X" and event.get("cat") in (*OPERATIONS, *RUNTIME):
            by_thread[event.get("pid"), event.get("tid")].append(event)
    calls: dict[str, list[float]] = {"launch": [], "copy": [], "sync": []}
    threads, accumulations = [], 0
    for events in by_thread.values():
        nodes = _nest(events)
        accumulations += sum("evaluate_function: torch::autograd::AccumulateGrad" in node.name for node in nodes)
        for node in nodes:
            if node.runtime:
                _file_call(node, calls)
        thread = _thread(nodes)
        if len(thread.operations) >= 20:
            threads.append(thread)
    counts: dict[str, int] = defaultdict(int)
    for thread in threads:
        for node in thread.operations:
            counts[host_class(node.name)] += 1
    return Observed(threads, calls, dict(counts), accumulations)


def _thread(nodes: list[Node]) -> Thread:
    recorded: list[int] = []
    inside: list[bool] = []  # node lies in a recorded operation
    in_engine: list[bool] = []
    for at, node in enumerate(nodes):
        parent_inside = node.parent >= 0 and (inside[node.parent] or _is_recorded(nodes[node.parent]))
        inside.append(parent_inside)
        in_engine.append("evaluate_function" in node.name or (node.parent >= 0 and in_engine[node.parent]))
        if not parent_inside and _is_recorded(node):
            recorded.append(at)
    gaps = []
    for a, b in pairwise(recorded):
        between = sum(1 for n in nodes[a + 1 : b] if not n.runtime and not inside_of(n, nodes[a]))
        gaps.append((max(0.0, nodes[b].start - nodes[a].end), between + 1))
    engine = [n for n in nodes if "evaluate_function" in n.name]
    spent = sum(n.length for n in engine) + sum(
        b.start - a.end for a, b in pairwise(engine) if 0 <= b.start - a.end < LONG_GAP_US
    )
    issued = [at for at in recorded if in_engine[at]]
    spent -= sum(nodes[at].length for at in issued)
    events = sum(1 for at, n in enumerate(nodes) if in_engine[at] and not n.runtime and not inside[at])
    return Thread([nodes[at] for at in recorded], gaps, len(engine), spent, events, len(issued))


def inside_of(node: Node, outer: Node) -> bool:
    """Whether a node lies in another in time."""
    return node.start >= outer.start and node.end <= outer.end


def _is_recorded(node: Node) -> bool:
    if node.runtime or not node.name.startswith("aten::"):
        return False
    bare = node.name.removeprefix("aten::")
    return bare not in COMPOSITES and (bare in _KNOWN or bare.removesuffix("_") in _KNOWN)


def _file_call(node: Node, calls: dict[str, list[float]]) -> None:
    if "Launch" in node.name and "Graph" not in node.name:
        calls["launch"].append(node.length)
    elif "emcpyAsync" in node.name:
        calls["copy"].append(node.length)
    elif "Synchronize" in node.name:
        calls["sync"].append(node.length)


def _nest(events: list[dict[str, Any]]) -> list[Node]:
    """Events of one thread with parents, by containment."""
    ordered = sorted(events, key=lambda e: (float(e["ts"]), -float(e["dur"])))
    nodes: list[Node] = []
    stack: list[int] = []
    for event in ordered:
        start, length = float(event["ts"]), float(event["dur"])
        while stack and nodes[stack[-1]].end <= start:
            stack.pop()
        parent = stack[-1] if stack else -1
        nodes.append(Node(event["name"], start, start + length, event["cat"] in RUNTIME, parent, event.get("args") or {}))
        stack.append(len(nodes) - 1)
    for node in reversed(nodes):
        if node.parent < 0:
            continue
        outer = nodes[node.parent]
        outer.inside_runtime += node.length if node.runtime else node.inside_runtime
        outer.inside_launches += ("Launch" in node.name) if node.runtime else node.inside_launches
        outer.inside_events += 0 if node.runtime else 1 + node.inside_events
    return nodes


def _events(path: Path) -> Iterator[dict[str, Any]]:
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            member = next(m for m in archive.getmembers() if m.isfile() and "json" in m.name)
            stream = archive.extractfile(member)
            data = stream.read() if stream else b""
    else:
        data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    parsed = json.loads(data)
    yield from parsed if isinstance(parsed, list) else parsed["traceEvents"]


def _trimmed(values: list[float]) -> float:
    """Mean of the middle 80 % (old traces hold whole microseconds, so a median would be a step function)."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    return statistics.fmean(ordered[cut : len(ordered) - cut])
