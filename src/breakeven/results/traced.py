"""Records about a trace that was imported: what it says of its devices and kernels, and the answer of `breakeven trace`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.results.records import DeviceResult, Finding, Interval, Remedy, Share


@dataclass(frozen=True)
class DeviceFacts:
    """What a trace says about one of its devices; None: it does not.

    Attributes:
        name: as the driver calls it.
        multiprocessors: of the device.
        memory_bytes: of the device.
    """

    name: str | None = None
    multiprocessors: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Shapes:
    """Kernels as they were launched, by kernel name: what the timeline's columns do not hold.

    Attributes:
        blocks: thread blocks of its launches, mean by name.
        threads: threads in a block, mean by name.
        occupancy: achieved occupancy by the profiler's estimate, 0 to 1, mean by name, weighted with the time.
    """

    blocks: Mapping[str, float] = field(default_factory=dict)
    threads: Mapping[str, float] = field(default_factory=dict)
    occupancy: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class TraceStep:
    """One step of a trace: the length of its mark on the host."""

    name: str
    ms: float


@dataclass(frozen=True)
class RankResult:
    """One of several ranks' traces."""

    rank: int | None
    device_busy_ms: float | None
    device_idle_ms: float | None
    step_ms: Interval | None
    file: str = ""
    exchange_ms: float | None = None  # of an average step, in collectives that nothing hides


@dataclass(frozen=True)
class Replay:
    """The trace's own operations through the simulator, per median step; `blind_ms` None: shapes or the device are not known."""

    recorded_ms: float
    own_times_ms: float | None
    blind_ms: Interval | None


@dataclass(frozen=True)
class TraceReport:
    """The whole answer of `breakeven trace` for one device."""

    file: str
    source: str  # kineto | nsys | xprof
    device: str
    events: int
    steps: tuple[TraceStep, ...]
    step_ms: Interval | None
    account: tuple[Share, ...]
    findings: tuple[Finding, ...]
    warnings: tuple[str, ...] = ()
    device_busy_ms: float | None = None
    device_idle_ms: float | None = None
    kernels: int = 0
    without_profiler_ms: Interval | None = None
    ranks: tuple[RankResult, ...] | None = None
    steps_from: str | None = None  # marks | optimizer | period; None: the whole is one
    rank: int | None = None
    replay: Replay | None = None
    remedies: tuple[Remedy, ...] = ()  # what to change, with what playing the trace without it saves
    devices: tuple[DeviceResult, ...] = ()  # the recorded one and those asked for, where any is
    versions: Mapping[str, Any] = field(default_factory=dict)
    schema: str = "breakeven/trace/1"
