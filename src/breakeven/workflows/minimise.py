"""`breakeven trace --minimise F`: a file small enough to share, that says nothing about whose it is, with the same verdict.

Kept are one step and what the account of it needs: device work, calls, waits, the loader, marks. Left out or renamed: paths,
hosts, names of the program's own, operations that none of these lie in.
"""

from __future__ import annotations

import gzip
import re
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from breakeven.diagnose.imported.evidence import TraceEvidence, evidence_from
from breakeven.diagnose.imported.findings import trace_findings
from breakeven.errors import NoAnswer
from breakeven.readers import Trace
from breakeven.timeline import Lane, Timeline, schema
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column
from breakeven.writers import to_chrome

#: Bytes that such a file has at most.
MOST_BYTES: Final = 100_000

#: Times that a trace without steps is cut in half to find a stretch that is small enough: a 64th of it at the least.
_HALVINGS: Final = 6

#: Names that say nothing about their user: of CUDA, HIP and of PyTorch's own operations, optimizers and loaders.
_PUBLIC: Final = re.compile(
    r"^(?:cuda|cu|hip)[A-Z]\w*$|^(?:aten|autograd|torch|c10d)::[\w:. ]+$|^Memcpy|^Memset|^ProfilerStep#\d+$|"
    r"^Optimizer\.\w+#\w+\.\w+$|^enumerate\(DataLoader\)#\w+\.\w+$|^(?:nccl|gloo):\w+$"
)
#: Kernels keep the words by which their cause is told, and lose the rest.
_TELLING: Final = re.compile(
    r"(?i)nccl|gemm|conv|cutlass|xmma|winograd|wgrad|dgrad|cijk_|_mm_|bmm|attention|flash|fft|lstm|gru|rnn|dtod|d2d|memset|"
    r"copybuffer|ptop|p2p|peer"
)


def minimised(trace: Trace, evidence: TraceEvidence) -> bytes:
    """The small file, compressed.

    Raises:
        NoAnswer: no stretch of the trace is small enough and has the same first finding.
    """
    wanted = _first(evidence)
    for keep_operations in (True, False):
        for window in _windows(evidence):
            small = _scrubbed(_within(evidence, window, keep_operations))
            content = gzip.compress(to_chrome(small, trace.devices), 9, mtime=0)
            if len(content) <= MOST_BYTES and _same(small, trace, wanted):
                return content
    raise NoAnswer(f"{trace.name}: no part of it is under {MOST_BYTES // 1000} kB and has the same verdict")


def _first(evidence: TraceEvidence) -> str | None:
    found = trace_findings(evidence)
    return found[0].id if found else None


def _same(small: Timeline, trace: Trace, wanted: str | None) -> bool:
    """Whether the same finding leads."""
    try:
        return _first(evidence_from(small, trace.devices, trace.shapes)) == wanted
    except ValueError:
        return False


def _windows(evidence: TraceEvidence) -> list[tuple[int, int]]:
    """Stretches to try: all of it, the last half of the steps, the last three, two, then single ones of median length.

    Without steps: all of it, its halves, quarters and so on.
    """
    start = column(evidence.timeline.events, schema.EVENT_START)
    whole = (int(start.min()), int((start + column(evidence.timeline.events, schema.EVENT_DURATION)).max()) + 1)
    if evidence.steps is None:
        edges = [np.linspace(*whole, 2**halvings + 1).astype(np.int64).tolist() for halvings in range(_HALVINGS + 1)]
        return [stretch for cuts in edges for stretch in pairwise(cuts)]
    spans = evidence.steps.spans
    length = spans.end - spans.start
    order = np.argsort(np.abs(length - np.median(length)), kind="stable")
    groups = [(int(spans.start[-n]), int(spans.end[-1])) for n in (len(length) // 2, 3, 2) if 1 < n <= len(length)]
    return [whole, *groups, *((int(spans.start[i]), int(spans.end[i])) for i in order.tolist())]


def _within(evidence: TraceEvidence, window: tuple[int, int], operations: bool) -> Timeline:
    """Events of a stretch; without `operations`, only those that the account cannot do without."""
    events = evidence.timeline.events
    start = column(events, schema.EVENT_START)
    lanes = np.array([lane.kind for lane in evidence.timeline.lanes])[column(events, schema.EVENT_LANE)]
    keep = (start >= window[0]) & (start < window[1]) & np.isin(lanes, ["host", "loader", "stream", "copy"])
    if not operations:
        kind, cause = events[schema.EVENT_KIND.name], events[schema.EVENT_CAUSE.name]
        keep &= (kind != Kind.HOST).to_numpy() | cause.is_not_null().to_numpy() | np.isin(lanes, ["stream", "copy"])
    place = np.where(keep, np.cumsum(keep) - 1, -1)
    link = column(events, schema.EVENT_LINK)
    kept = events.filter(pl.Series(keep)).with_columns(
        pl.Series(schema.EVENT_LINK.name, np.where(link >= 0, place[np.maximum(link, 0)], -1)[keep], dtype=pl.Int32),
        pl.lit(-1, dtype=pl.Int32).alias(schema.EVENT_SITE.name),
        (pl.col(schema.EVENT_START.name) - int(start[keep].min() if keep.any() else 0)).alias(schema.EVENT_START.name),
    )
    return Timeline(kept, evidence.timeline.lanes, evidence.timeline.origin)


def _scrubbed(timeline: Timeline) -> Timeline:
    """The same without names that are the user's own."""
    names = timeline.events[schema.EVENT_NAME.name].unique(maintain_order=True).to_list()
    renamed = {name: _plain(name, at) for at, name in enumerate(names)}
    lanes = tuple(Lane(lane.kind, lane.device, f"{lane.kind} {at}") for at, lane in enumerate(timeline.lanes))
    events = timeline.events.with_columns(pl.col(schema.EVENT_NAME.name).replace(renamed).alias(schema.EVENT_NAME.name))
    return Timeline(events, lanes, timeline.origin)


def _plain(name: str, at: int) -> str:
    if _PUBLIC.match(name):
        return name
    telling = dict.fromkeys(word.lower() for word in _TELLING.findall(name))
    return "_".join([*telling, f"name{at}"])
