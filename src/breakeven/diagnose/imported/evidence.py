"""Evidence from an imported timeline: all that a rule of a trace may look at, for one device. Frozen; rules read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.diagnose.account import DeviceAccount, account
from breakeven.diagnose.cpu_account import CPU_CAUSES, cpu_account
from breakeven.diagnose.host_state import CAUSES
from breakeven.diagnose.imported.first_calls import with_set_up
from breakeven.diagnose.imported.seen import Seen
from breakeven.diagnose.imported.steps import Steps, steps_of
from breakeven.diagnose.kernel_limits import causes_on
from breakeven.results.records import Interval, Share
from breakeven.results.traced import DeviceFacts, Shapes
from breakeven.stats import estimate
from breakeven.timeline import Timeline, queries, schema
from breakeven.timeline.coded import Coded
from breakeven.timeline.intervals import Intervals, Ints, piece_of
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

#: Name of the CPU among devices.
CPU: Final = "cpu"

#: A step of which set-up takes more than this part is no step like the others.
_SET_UP: Final = 0.1

#: A step so many times as long as the median was interrupted by something else on the host (cpu_mlp_tiny.json.gz: 9.1 ms and
#: 0.9 ms), which says nothing about the host's own speed.
_INTERRUPTED: Final = 3.0
_Z90: Final = 1.645
_HOST_SPEED: Final = frozenset({"launch", "overhead"})


@dataclass(frozen=True)
class TraceEvidence:
    """One device of one trace.

    Attributes:
        timeline: with set-up marked.
        lane_device: the device as the timeline calls it; `cpu` where it shows no device event.
        steps: its steps; None: the whole is one.
        accounts: its time, step by step, divided among causes.
        facts: what the trace says about the device.
        shapes: how its kernels were launched.
    """

    timeline: Timeline
    lane_device: str
    steps: Steps | None
    accounts: DeviceAccount
    facts: DeviceFacts = field(default_factory=DeviceFacts)
    shapes: Shapes = field(default_factory=Shapes)

    @property
    def device(self) -> str:
        """The device as findings name it."""
        return CPU if self.lane_device == CPU else self.facts.name or "the GPU"

    @property
    def on_cpu(self) -> bool:
        """Whether the trace shows no device event."""
        return self.lane_device == CPU

    @cached_property
    def lengths_ms(self) -> NDArray[np.float64]:
        """Length of each step."""
        return np.array([s.duration_ns for s in self.accounts.steps], dtype=np.float64) / NS_PER_MS

    @cached_property
    def parts_ms(self) -> Mapping[str, NDArray[np.float64]]:
        """Each cause's part of each step."""
        causes = CPU_CAUSES if self.on_cpu else CAUSES
        return {c: np.array([s.parts_ns[c] for s in self.accounts.steps], dtype=np.float64) / NS_PER_MS for c in causes}

    @cached_property
    def step_ms(self) -> Interval:
        """The median step; without steps, the whole."""
        if len(self.lengths_ms) == 1:
            return Interval(*[float(self.lengths_ms[0])] * 3)
        known = estimate(self.lengths_ms, skip_warmup=False)
        mid = float(np.median(self.lengths_ms))
        return Interval(min(float(known.low), mid), mid, max(float(known.high), mid))

    @cached_property
    def account_ms(self) -> Mapping[str, float]:
        """Parts of the median step, which sum to it: of an even number of steps, the mean of the two in the middle."""
        order = np.argsort(self.lengths_ms, kind="stable")
        middle = order[(len(order) - 1) // 2 : len(order) // 2 + 1]
        return {cause: float(part[middle].mean()) for cause, part in self.parts_ms.items()}

    def shares(self) -> tuple[Share, ...]:
        """The account of the median step; what it does not have is left out."""
        whole = self.step_ms.mid
        return tuple(Share(c, ms, ms / whole if whole else 0.0) for c, ms in self.account_ms.items() if ms > 0)

    @cached_property
    def usual(self) -> NDArray[np.bool_]:
        """Steps that are like the others: those without much set-up; all, where none is."""
        if self.on_cpu:
            return np.ones(len(self.lengths_ms), dtype=np.bool_)
        usual: NDArray[np.bool_] = self.parts_ms["warmup"] <= _SET_UP * self.lengths_ms
        if self.steps is not None and self.steps.how == "optimizer" and len(usual) > 2:
            usual[0] = False  # it begins where the trace does, which is no edge of a step
        return usual if usual.any() else np.ones(len(usual), dtype=np.bool_)

    def price(self, *causes: str, every: bool = False) -> Interval:
        """What a step would save on average without these causes' parts, ms, with a 90 % interval of the mean.

        Args:
            causes: causes of the account.
            every: over all steps; else over those without much set-up.
        """
        parts = sum(self.parts_ms[c] for c in causes) + np.zeros(len(self.lengths_ms))
        used = parts if every else parts[self.usual]
        if set(causes) <= _HOST_SPEED and not every:
            length = self.lengths_ms[self.usual]
            used = used[length <= _INTERRUPTED * np.median(length)]
        mean = mean_interval(used)
        return Interval(max(0.0, mean.low), mean.mid, mean.high)

    @cached_property
    def on_device(self) -> Seen:
        """Events of the device."""
        return Seen(self.timeline, queries.on_device(self.timeline, self.lane_device))

    @cached_property
    def device_causes(self) -> Coded:
        """Account's cause of each event of the device."""
        return causes_on(self.timeline, self.on_device.at)

    @cached_property
    def kernels(self) -> int:
        """Kernels that ran on the device: copies and memsets do not count."""
        return len(self.on_device) - len(self.on_device.of_kind(Kind.COPY))

    @cached_property
    def on_host(self) -> Seen:
        """Events of the host's threads."""
        marks = self.timeline.kinds.among(Kind.STEP)
        return Seen(self.timeline, np.flatnonzero(self.timeline.on_lanes("host") & ~marks))

    @cached_property
    def annotations(self) -> Seen:
        """What says where in the program a thread is, and no more."""
        return Seen(self.timeline, np.flatnonzero(self.timeline.on_lanes("marks")))

    @cached_property
    def within(self) -> NDArray[np.bool_]:
        """Whether each event of the timeline begins in a step; all do where there are none."""
        start = column(self.timeline.events, schema.EVENT_START)
        if self.steps is None:
            return np.ones(len(start), dtype=np.bool_)
        order = np.argsort(self.steps.spans.start, kind="stable")
        inside: NDArray[np.bool_] = piece_of(Intervals(self.steps.spans.start[order], self.steps.spans.end[order]), start) >= 0
        return inside

    @cached_property
    def device_in_steps(self) -> Seen:
        """Events of the device that begin in a step."""
        return self.on_device.where(self.within)

    @cached_property
    def host_in_steps(self) -> Seen:
        """Events of the host's threads that begin in a step."""
        return self.on_host.where(self.within)

    @property
    def count(self) -> int:
        """Steps that were looked at."""
        return len(self.lengths_ms)


def mean_interval(values: NDArray[np.float64]) -> Interval:
    """The mean of these steps' values with its 90 % interval, as for a normal distribution; one value is its own interval."""
    mid = float(values.mean())
    half = _Z90 * float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else 0.0
    return Interval(mid - half, mid, mid + half)


def evidence_from(timeline: Timeline, devices: Mapping[str, DeviceFacts], shapes: Shapes) -> TraceEvidence:
    """Evidence on the device with most kernels; without device events, on the CPU.

    Raises:
        ValueError: the timeline holds nothing to account for.
    """
    found = queries.devices(timeline)
    steps = steps_of(timeline)
    if not found:
        return TraceEvidence(timeline, CPU, steps, cpu_account(timeline, steps.spans if steps else None))
    marked = with_set_up(timeline, steps)
    if steps is not None and not _device_within(marked, found[0], steps):
        steps = None
    accounts = account(marked, found[0], steps.spans) if steps else account(_unmarked(marked), found[0])
    return TraceEvidence(marked, found[0], steps, accounts, devices.get(found[0], DeviceFacts()), shapes)


def _device_within(timeline: Timeline, device: str, steps: Steps) -> bool:
    """Whether the device ran anything in the time of the steps; marks of another stretch are no steps of this work."""
    start: Ints = column(timeline.events, schema.EVENT_START)[queries.on_device(timeline, device)]
    return bool(((start >= steps.spans.start.min()) & (start < steps.spans.end.max())).any())


def _unmarked(timeline: Timeline) -> Timeline:
    """Without marks of steps that are not used."""
    marks = pl.col(schema.EVENT_KIND.name) == Kind.STEP
    if Kind.STEP not in timeline.kinds.values:
        return timeline
    span = (pl.when(marks).then(0).otherwise(pl.col(schema.EVENT_DURATION.name))).alias(schema.EVENT_DURATION.name)
    return Timeline(timeline.events.with_columns(span), timeline.lanes, timeline.origin, timeline.sites)
