"""graph_launch: the device runs graphs, and what seems idle in them is no fault of the host's, in a trace."""

from __future__ import annotations

import re

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, unit
from breakeven.diagnose.wording import count, ms, of_step
from breakeven.results.records import Finding
from breakeven.timeline.intervals import Intervals, sums, union
from breakeven.units import NS_PER_MS

_LAUNCH = re.compile(r"^(?:cuda|cu|hip)GraphLaunch")

#: Part of the traced time that must seem idle within graphs.
_LEAST = 0.05


def graph_launch(evidence: TraceEvidence) -> Finding | None:
    """Pauses of the device inside a graph that was launched as a whole.

    What it sees: calls that launch graphs, and pauses between the kernels of one such call.
    Why it costs: perhaps nothing: profilers slow a graph's nodes down, or leave nodes out, and the pause is an artefact of that.
        Where it is real, the graph's own dependences are the cause. The host is none: it had launched everything.
    Evidence: the pauses between the first and the last kernel of each launch, over all streams. No price: a trace cannot tell.
    Example: CUDA graphs of a recommender on several streams (a100_recsys_graphs.json.gz).
    Remedy: none from the host's side; time the step without the profiler.
    When it is wrong: where a graph waits for another one's event.
    """
    if evidence.on_cpu:
        return None
    device = evidence.on_device
    calls = device.link
    launches = np.flatnonzero(evidence.timeline.names.matching(_LAUNCH))
    mine = device.where(np.isin(calls, launches))
    if len(mine) < 2:
        return None
    graphs = _spans(mine.link, mine.start, mine.start + mine.duration)
    busy = union(device.start, device.start + device.duration)
    idle = float((graphs.end - graphs.start).sum() - sums(busy, graphs.start, graphs.end).sum()) / NS_PER_MS
    traced = float(evidence.lengths_ms.sum())
    if idle < _LEAST * traced:
        return None
    per_step = idle / evidence.count
    sentence = (
        f"{count(len(np.unique(mine.link)) / evidence.count, 'graph launch', 'graph launches')} {unit(evidence)} run "
        f"{count(len(mine) / evidence.count, 'kernel')}; the GPU seems idle for {of_step(per_step, evidence.step_ms.mid)} inside "
        f"them ({ms(per_step)} that the host is no cause of, and that may be the profiler's doing)."
    )
    return finding(evidence, "graph_launch", "other", None, sentence)


def _spans(link: np.typing.NDArray[np.int64], start: np.typing.NDArray[np.int64], end: np.typing.NDArray[np.int64]) -> Intervals:
    """From the first to the last kernel of each launch; those that overlap count once."""
    _, which = np.unique(link, return_inverse=True)
    first, last = np.full(which.max() + 1, np.iinfo(np.int64).max), np.zeros(which.max() + 1, dtype=np.int64)
    np.minimum.at(first, which, start)
    np.maximum.at(last, which, end)
    return union(first, last)
