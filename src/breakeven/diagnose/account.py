"""The account: each nanosecond of a step has exactly one owner, for a device of any timeline.

While the device runs something, the owner is what it runs. While it runs nothing, idle is counted once over the union of
its streams, and the owner is found by the link of the work that ends the pause: what did the thread that launched it do
meanwhile? See docs/account.md for the rules and why they are so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from breakeven.diagnose.host_state import CAUSES
from breakeven.diagnose.idle import owners
from breakeven.diagnose.kernel_limits import causes_on
from breakeven.results import Share
from breakeven.timeline import Timeline, queries, schema
from breakeven.timeline.intervals import Intervals, Ints, first_owner, gaps, sums, union
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

#: What wins where several things run at once: arithmetic before traffic, kernels before collectives before copies.
_BUSY: Final = ("compute", "bandwidth", "small_kernel", "warmup", "communication", "copy")


@dataclass(frozen=True)
class StepAccount:
    """One step: its parts in whole nanoseconds, which sum to its length."""

    name: str
    step: int
    start_ns: int
    duration_ns: int
    parts_ns: Mapping[str, int]  # every cause, in the order of CAUSES


@dataclass(frozen=True)
class DeviceAccount:
    """The account of one device, step by step; without step marks the whole is one step.

    Attributes:
        device: as the timeline calls it.
        steps: in order of time.
        marked: the steps come from marks; False: the whole.
    """

    device: str
    steps: tuple[StepAccount, ...]
    marked: bool

    def median(self) -> StepAccount:
        """The step of median length (the shorter middle one of an even number)."""
        return sorted(self.steps, key=lambda step: (step.duration_ns, step.start_ns))[(len(self.steps) - 1) // 2]

    def mean_shares(self) -> tuple[Share, ...]:
        """Parts of the mean step, milliseconds; what none of the steps has is left out."""
        whole = sum(step.duration_ns for step in self.steps)
        totals = {cause: sum(step.parts_ns[cause] for step in self.steps) for cause in self.steps[0].parts_ns}
        return tuple(
            Share(cause, ns / len(self.steps) / NS_PER_MS, ns / whole if whole else 0.0) for cause, ns in totals.items() if ns
        )


def shares(step: StepAccount) -> tuple[Share, ...]:
    """Parts of one step, milliseconds; what it does not have is left out."""
    whole = step.duration_ns
    return tuple(Share(cause, ns / NS_PER_MS, ns / whole) for cause, ns in step.parts_ns.items() if ns)


def account(timeline: Timeline, device: str, windows: Intervals | None = None) -> DeviceAccount:
    """Divide each step's wall time on one device among its causes.

    Args:
        timeline: measured, simulated or imported.
        device: one of the devices of its stream and copy lanes.
        windows: account for these stretches instead of the marked steps.

    Returns:
        One account per step mark; without marks one of the device's span, from its first event to its last.

    Raises:
        ValueError: the timeline holds no event of the device.
    """
    mine = queries.on_device(timeline, device)
    if not len(mine):
        known = sorted({x.device for x in timeline.lanes if x.kind in ("stream", "copy")})
        raise ValueError(f"no event on {device!r}; devices with lanes: {', '.join(known) or 'none'}")
    names, steps, spans, marked = marked_windows(timeline, mine, windows)
    pieces, owner = _pieces(timeline, mine, int(spans.start.min()), int(spans.end.max()))
    by_cause = np.zeros((len(CAUSES), len(spans)), dtype=np.int64)
    for cause in np.unique(owner):
        held = Intervals(pieces.start[owner == cause], pieces.end[owner == cause])
        by_cause[cause] = sums(held, spans.start, spans.end)
    return DeviceAccount(device, tuple(
        StepAccount(
            names[i], steps[i], int(spans.start[i]), int(spans.end[i] - spans.start[i]),
            {cause: int(by_cause[c, i]) for c, cause in enumerate(CAUSES)},
        )
        for i in range(len(spans))
    ), marked)  # fmt: skip


def marked_windows(timeline: Timeline, mine: Ints, windows: Intervals | None) -> tuple[list[str], list[int], Intervals, bool]:
    """Names, numbers and spans of what is accounted for, and whether these are marked steps."""
    events = timeline.events
    if windows is not None:
        return [f"window {i}" for i in range(len(windows))], [-1] * len(windows), windows, False
    marks = events.filter((pl.col(schema.EVENT_KIND.name) == Kind.STEP) & (pl.col(schema.EVENT_DURATION.name) > 0))
    of_host = marks.filter(pl.col(schema.EVENT_LANE.name).is_in([i for i, x in enumerate(timeline.lanes) if x.kind == "host"]))
    marks = of_host if of_host.height else marks  # a profiler repeats them on the device's lanes, shifted
    if marks.height:
        start = column(marks, schema.EVENT_START)
        spans = Intervals(start, start + column(marks, schema.EVENT_DURATION))
        return marks[schema.EVENT_NAME.name].to_list(), column(marks, schema.EVENT_STEP).tolist(), spans, True
    start, duration = column(events, schema.EVENT_START)[mine], column(events, schema.EVENT_DURATION)[mine]
    whole = Intervals(start.min(keepdims=True), (start + duration).max(keepdims=True))
    return ["the whole"], [-1], whole, False


def _pieces(timeline: Timeline, mine: Ints, low: int, high: int) -> tuple[Intervals, Ints]:
    """Disjoint pieces in order that cover at least [low, high), and the cause (position in CAUSES) that owns each."""
    events = timeline.events
    start = column(events, schema.EVENT_START)[mine]
    end = start + column(events, schema.EVENT_DURATION)[mine]
    told = causes_on(timeline, mine)
    rank = np.array([_BUSY.index(name) for name in told.values], dtype=np.int64)[told.codes]
    busy, ranks = first_owner(start, end, rank, len(_BUSY))
    owner = np.array([CAUSES.index(name) for name in _BUSY], dtype=np.int64)[ranks]
    idle = gaps(union(start, end), min(low, int(start.min())), max(high, int(end.max())))
    idle_pieces, idle_owner = owners(timeline, mine, idle)
    by_time = np.argsort(np.concatenate([busy.start, idle_pieces.start]), kind="stable")
    both = Intervals(
        np.concatenate([busy.start, idle_pieces.start])[by_time], np.concatenate([busy.end, idle_pieces.end])[by_time]
    )
    return both, np.concatenate([owner, idle_owner])[by_time]
