"""What a page shows beyond the answer: a step as it was played, what each line costs, and the step at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from breakeven.results.records import Interval, Share


@dataclass(frozen=True)
class Bars:
    """Events of a step as columns of equal length, by start.

    Attributes:
        lane: position among the lanes.
        depth: how many events of its lane it lies in.
        start_ns: from the step's beginning.
        duration_ns: its length.
        name: position among the names.
        cause: position among the causes; -1: not known.
        line: position among the places; -1: none.
    """

    lane: tuple[int, ...] = ()
    depth: tuple[int, ...] = ()
    start_ns: tuple[int, ...] = ()
    duration_ns: tuple[int, ...] = ()
    name: tuple[int, ...] = ()
    cause: tuple[int, ...] = ()
    line: tuple[int, ...] = ()


@dataclass(frozen=True)
class PlayedStep:
    """One step on one device.

    Attributes:
        device: its name.
        source: predicted (simulated) or measured (read from a trace).
        lanes: host first, then loaders, streams and copy engines.
        names: of operations, each once.
        causes: of the account, each once.
        places: `file:line`, each once.
        bars: the events.
        length_ns: of the step.
        left_out: events that are not among them, since there are too many.
    """

    device: str
    source: str
    lanes: tuple[str, ...]
    names: tuple[str, ...]
    causes: tuple[str, ...]
    places: tuple[str, ...]
    bars: Bars
    length_ns: int
    left_out: int = 0


@dataclass(frozen=True)
class LinePrice:
    """What a line asks for in one step, by the middle of all prices.

    Attributes:
        file: of the user's.
        line: its number.
        text: what stands there.
        host_ms: time of the host on the first predicted device's machine.
        device_ms: by device: time that its kernels and copies take there.
    """

    file: str
    line: int
    text: str
    host_ms: float
    device_ms: Mapping[str, float]


@dataclass(frozen=True)
class SizePoint:
    """One device's step at one size; `factor` is the CPU's step over this one, and `probability` that it is over 1.

    Where no `factor` is known, `probability` is that this device is the fastest.
    """

    value: int | float
    step_ms: Interval
    account: tuple[Share, ...] = ()
    factor: Interval | None = None
    probability: float | None = None
    source: str = "predicted"  # measured | predicted


@dataclass(frozen=True)
class SizeCurve:
    """One device over the sizes."""

    device: str
    kind: str  # cpu | gpu
    points: tuple[SizePoint, ...]


@dataclass(frozen=True)
class Sizes:
    """All devices over the same sizes; only the CPU's point of today was measured."""

    parameter: str
    today: int
    curves: tuple[SizeCurve, ...]


@dataclass(frozen=True)
class Pictured:
    """All of it; what could not be had is empty or None.

    Attributes:
        steps: of each device that was played.
        lines: of all files, in order.
        sources: whole text of the files that the lines are in, by name as the lines have it.
        sizes: the step at other batches.
    """

    steps: tuple[PlayedStep, ...] = ()
    lines: tuple[LinePrice, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    sizes: Sizes | None = None
