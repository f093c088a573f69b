"""Steps of an imported timeline: from the profiler's marks, else the optimizer's, else a period, else none: the whole is one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from breakeven.diagnose.imported.periods import period_of
from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Intervals, Ints
from breakeven.timeline.schema import Kind, Phase
from breakeven.timeline.timeline import column

#: A last mark shorter than this part of the median of the others, in which nothing is launched, was cut off by the profiler's end
#: (mi250_minitoy.json.gz: 49 µs after a step of 9.3 ms).
_STUB: Final = 0.1
_OPTIMIZER: Final = re.compile(r"^Optimizer\.step")


@dataclass(frozen=True)
class Steps:
    """Steps in order of time.

    Attributes:
        names: of the steps.
        spans: from where to where, ns.
        how: `marks`, `optimizer` or `period`.
        note: what a reader of the answer should know of it.
    """

    names: tuple[str, ...]
    spans: Intervals
    how: str
    note: str = ""

    def __len__(self) -> int:
        return len(self.names)


def steps_of(timeline: Timeline) -> Steps | None:
    """The steps of a timeline; None where nothing marks them."""
    long = column(timeline.events, schema.EVENT_DURATION) > 0
    marks = timeline.events[np.flatnonzero(timeline.kinds.among(Kind.STEP) & long)]
    if marks.height:
        return _without_stub(timeline, _marked(marks))
    return _between_optimizer_steps(timeline) or _repeated(timeline)


def _repeated(timeline: Timeline) -> Steps | None:
    """Steps from what repeats, where that is certain."""
    found = period_of(timeline)
    if found is None:
        return None
    note = (
        f"no step is marked; steps were told from what repeats: {found.events} kernels and copies, {len(found.spans)} times, "
        f"{100 * found.alike:.3g} % of them alike"
    )
    return Steps(tuple(f"period {i}" for i in range(len(found.spans))), found.spans, "period", note)


def _marked(marks: pl.DataFrame) -> Steps:
    """Marked steps; a mark that repeats another one of its name on a further thread is the same step."""
    names = marks[schema.EVENT_NAME.name].to_list()
    start = column(marks, schema.EVENT_START)
    end = start + column(marks, schema.EVENT_DURATION)
    kept: list[int] = []
    until: dict[str, int] = {}
    for at, name in enumerate(names):
        if start[at] >= until.get(name, -1):
            kept.append(at)
            until[name] = int(end[at])
    return Steps(tuple(names[i] for i in kept), Intervals(start[kept], end[kept]), "marks")


def _without_stub(timeline: Timeline, steps: Steps) -> Steps:
    if len(steps) < 2:
        return steps
    length = steps.spans.end - steps.spans.start
    if length[-1] >= _STUB * np.median(length[:-1]):
        return steps
    start = column(timeline.events, schema.EVENT_START)
    launches = timeline.kinds.among(Kind.LAUNCH)
    worth = launches if launches.any() else timeline.on_lanes("host") & ~timeline.kinds.among(Kind.STEP)
    inside = worth & (start >= steps.spans.start[-1]) & (start < steps.spans.end[-1])
    if inside.any():
        return steps
    return Steps(steps.names[:-1], Intervals(steps.spans.start[:-1], steps.spans.end[:-1]), steps.how)


def _between_optimizer_steps(timeline: Timeline) -> Steps | None:
    """A step ends where the optimizer's does; the first begins with the trace."""
    events = timeline.events
    named = timeline.names.matching(_OPTIMIZER) & timeline.on_lanes("host", "marks")
    mine = events[np.flatnonzero(named)]
    mine = mine.filter(pl.col(schema.EVENT_PHASE.name) == Phase.OPTIMIZER)
    if mine.height < 2:
        return None
    start = column(mine, schema.EVENT_START)
    end = start + column(mine, schema.EVENT_DURATION)
    outer = _outermost(start, end)
    ends = end[outer]
    begins = np.concatenate([[0], ends[:-1]])
    names = tuple(f"step {i}" for i in range(len(ends)))
    return Steps(names, Intervals(begins, ends), "optimizer") if len(ends) > 1 else None


def _outermost(start: Ints, end: Ints) -> Ints:
    """Positions of intervals (in order of start) that lie in no earlier one."""
    reach = np.concatenate([[-1], np.maximum.accumulate(end)[:-1]])
    return np.flatnonzero(end > reach)
