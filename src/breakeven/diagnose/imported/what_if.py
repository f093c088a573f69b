"""What-ifs on an imported trace: its own schedule, edited and played again; what a step saves is the difference.

What it does not know: work that the trace does not record, and what the program would do with the time that it gets back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.imported.evidence import TraceEvidence, mean_interval
from breakeven.diagnose.imported.frames import by_line
from breakeven.diagnose.imported.own_times import OwnTimes
from breakeven.diagnose.imported.seen import Seen
from breakeven.results.records import Finding, Interval, Site
from breakeven.simulate import Engine, Schedule
from breakeven.timeline.intervals import sums, union
from breakeven.timeline.schema import Kind

#: Issues up to which a trace is played again for every remedy: several streams take some 10 µs an issue.
MOST_ISSUES: Final = 60_000
_Bools = NDArray[np.bool_]
_Edit = Callable[[OwnTimes, TraceEvidence], Schedule]


@dataclass(frozen=True)
class WhatIf:
    """A trace's own schedule, and how long its steps are in it.

    Attributes:
        own: the schedule.
        evidence: of the trace.
        steps_ms: length of each step as it is, shape (steps,).
    """

    own: OwnTimes
    evidence: TraceEvidence
    steps_ms: NDArray[np.float64]

    @classmethod
    def of(cls, own: OwnTimes, evidence: TraceEvidence) -> WhatIf:
        """Play it as it is."""
        return cls(own, evidence, own.steps_ms(own.schedule)[:, 0])

    def saves(self, edited: Schedule) -> Interval:
        """What an average step saves, ms, with a 90 % interval of the mean; steps that hold set-up do not count."""
        saved = (self.steps_ms - self.own.steps_ms(edited)[:, 0])[self.evidence.usual]
        return mean_interval(saved)

    def gain(self, remedy: str) -> Interval | None:
        """What a remedy saves of a step; None: the schedule cannot show it."""
        edit = EDITS.get(remedy)
        return None if edit is None else self.saves(edit(self.own, self.evidence))


def without_waits(own: OwnTimes, which: _Bools) -> Schedule:
    """The host goes on at these waits, and at copies back to its memory."""
    return replace(own.schedule, waits=np.where(which, -1, own.schedule.waits).astype(np.int32))


def without_host_time(own: OwnTimes, events: Seen) -> Schedule:
    """The host does not spend the time of these events, as far as it lies between its calls."""
    spent = union(events.start, events.start + events.duration)
    inside = sums(spent, own.since, np.maximum(own.since, own.until))
    return replace(own.schedule, issue_ns=np.maximum(0, own.schedule.issue_ns - inside))


def priced_sites(what_if: WhatIf, finding: Finding) -> Finding:
    """A finding whose lines are waits, each line with what a step saves without the waits in it."""
    priced: list[Site] = []
    waits = what_if.evidence.host_in_steps.of_kind(Kind.SYNC)
    for site, events in by_line(waits):
        if any((site.file, site.line) == (known.file, known.line) for known in finding.sites):
            edited = without_waits(what_if.own, np.isin(what_if.own.call, events))
            priced.append(replace(site, price_ms=what_if.saves(edited)))
    return replace(finding, sites=tuple(priced)) if priced else finding


def _waits(own: OwnTimes) -> _Bools:
    """Waits for a result: calls that wait, and blocking copies back."""
    itself = own.schedule.waits == np.arange(len(own.schedule))
    found: _Bools = (own.schedule.waits >= 0) & (~itself | (own.schedule.engine == Engine.D2H))
    return found


def _blocking_to_device(own: OwnTimes) -> _Bools:
    found: _Bools = (own.schedule.waits >= 0) & (own.schedule.engine == Engine.H2D)
    return found


def _one_launch(own: OwnTimes, evidence: TraceEvidence) -> Schedule:
    """Kernels launched from a graph: the host spends nothing on each of them, but for what is no launching (loader, memory)."""
    launches = (own.schedule.engine == Engine.STREAM) & (own.schedule.waits < 0)
    host = evidence.on_host
    other = host.where((evidence.timeline.causes.codes >= 0) | evidence.timeline.kinds.among(Kind.ALLOC))
    spent = union(other.start, other.start + other.duration)
    kept = np.minimum(own.schedule.issue_ns, sums(spent, own.since, np.maximum(own.since, own.until)))
    return replace(own.schedule, issue_ns=np.where(launches, kept, own.schedule.issue_ns))


def _no_copies(own: OwnTimes, engine: int) -> Schedule:
    gone = own.schedule.engine == engine
    return replace(
        own.schedule,
        device_ns=np.where(gone, 0, own.schedule.device_ns),
        waits=np.where(gone, -1, own.schedule.waits).astype(np.int32),
    )


def _of_cause(evidence: TraceEvidence, cause: str) -> Seen:
    return evidence.on_host.where(evidence.timeline.causes.among(cause))


#: What each remedy does to a schedule; the others change what a trace does not hold.
EDITS: Final[Mapping[str, _Edit]] = {
    "metrics_on_device": lambda own, _: without_waits(own, _waits(own)),
    "pin_memory": lambda own, _: without_waits(own, _blocking_to_device(own)),
    "data_on_device": lambda own, _: _no_copies(own, Engine.H2D),
    "loader_workers": lambda own, evidence: without_host_time(own, _of_cause(evidence, "input")),
    "no_empty_cache": lambda own, evidence: without_host_time(own, evidence.on_host.of_kind(Kind.ALLOC)),
    "warm_up": lambda own, evidence: without_host_time(own, _of_cause(evidence, "warmup")),
    "cuda_graph": _one_launch,
}


def scaled(what_if: WhatIf, ratios: NDArray[np.float64]) -> Interval:
    """The median step, ms, where each event of the device takes another time; the host's times stay.

    The recorded step times what the simulated one grows by, so that what the schedule misses stays in. Its interval holds the
    spread of the recorded steps, and how far the simulated ones are from them, besides.

    Args:
        what_if: of the trace.
        ratios: of each event of the timeline, new over old time: low, mid, high. Shape (3, events).
    """
    own = what_if.own
    of = np.where(own.work >= 0, own.work, 0)
    device = own.schedule.device_ns * np.where(own.work >= 0, ratios[:, of], 1.0)
    played = own.steps_ms(own.schedule, np.rint(device).astype(np.int64).T)
    usual = what_if.evidence.usual
    before = float(np.median(what_if.steps_ms[usual]))
    low, mid, high = (float(np.median(played[usual, i])) / before for i in range(3))
    step = what_if.evidence.step_ms
    off = abs(before / step.mid - 1) if step.mid else 0.0
    return Interval(min(low, mid) * step.low * (1 - min(off, 0.9)), mid * step.mid, max(mid, high) * step.high * (1 + off))
