"""Records of the verbs that work on kept runs: their list, and whether one is worse than another."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.compared import Change
from breakeven.results.records import Interval


@dataclass(frozen=True)
class RunRow:
    """One run of a list.

    Attributes:
        path: as it is found from the folder that was listed.
        kind: the verb that made it.
        id: tells it from every other run.
        created: UTC.
        title: what it is about.
        finished: it is complete.
        parts: finished parts.
        devices: names of the devices that it knows a step of.
        sentence: its verdict; None: it has none.
    """

    path: str
    kind: str
    id: str
    created: str
    title: str
    finished: bool
    parts: int
    devices: tuple[str, ...] = ()
    sentence: str | None = None


@dataclass(frozen=True)
class RunsReport:
    """The whole answer of `breakeven runs`, newest first."""

    folder: str
    runs: tuple[RunRow, ...]
    warnings: tuple[str, ...] = ()
    schema: str = "breakeven/runs/1"


@dataclass(frozen=True)
class DeviceGate:
    """One device that both runs know.

    Attributes:
        device: its name.
        source: measured or predicted.
        step_ms: of the baseline and of the run.
        grew: causes that take more, really and by more than the tolerance; the largest first.
        step_grew: the step as a whole does.
        worse: either of them.
    """

    device: str
    source: str
    step_ms: tuple[Interval, Interval]
    grew: tuple[Change, ...]
    step_grew: bool
    worse: bool


@dataclass(frozen=True)
class GateReport:
    """The whole answer of `breakeven gate`; `tolerance` is the part of the baseline's step that may come on top."""

    baseline: str
    run: str
    worse: bool
    tolerance: float
    devices: tuple[DeviceGate, ...]
    warnings: tuple[str, ...] = ()
    schema: str = "breakeven/gate/1"
