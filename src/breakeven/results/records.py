"""The records of an answer; their field names are those of the JSON (`docs/json.md`). Missing is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Interval:
    """A number with its 90 % interval, in the unit that the field's name says."""

    low: float
    mid: float
    high: float


@dataclass(frozen=True)
class Share:
    """One cause's part of a step."""

    cause: str
    ms: float
    share: float


@dataclass(frozen=True)
class Account:
    """Parts of a step, exclusive and exhaustive: they sum to the step."""

    parts: tuple[Share, ...]


@dataclass(frozen=True)
class DeviceResult:
    """One device's step: measured here, or predicted."""

    name: str
    kind: str  # cpu | gpu
    source: str  # measured | predicted
    step_ms: Interval | None
    account: tuple[Share, ...] = ()


@dataclass(frozen=True)
class Site:
    """A source line and what it costs."""

    file: str
    line: int
    text: str
    price_ms: Interval | None = None


@dataclass(frozen=True)
class Finding:
    """One cause that costs time on one device, with its price by simulation and the lines that cause it."""

    id: str
    device: str
    cause: str
    price_ms: Interval | None
    sentence: str
    sites: tuple[Site, ...] = ()
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Remedy:
    """One thing to change for one device, with what the simulator says that it saves of a step; `gain_ms` None: not priced."""

    id: str
    device: str
    gain_ms: Interval | None
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """Which of two devices this training should run on; `factor` is how many times faster the chosen one is."""

    device: str
    over: str
    factor: Interval
    probability: float
    tie: bool
    sentence: str


@dataclass(frozen=True)
class BreakEven:
    """Value of a parameter from which the GPU wins; `value` None: never in the range that was looked at, or always."""

    parameter: str
    today: float | None
    gpu: str
    value: float | None
    low: float | None
    high: float | None
    sentence: str


@dataclass(frozen=True)
class WhyReport:
    """The whole answer of `breakeven why`; `failed` is the slug of the error (`errors.py`) that left it partial."""

    script: str
    unit: str | None  # step | loop | run; None where nothing was found to be counted
    steps: Mapping[str, int]
    devices: tuple[DeviceResult, ...]
    verdict: Verdict | None
    verdicts: tuple[Verdict, ...]
    break_even: tuple[BreakEven, ...]
    findings: tuple[Finding, ...]
    remedies: tuple[Remedy, ...] = ()  # what to do next, the best first
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None  # what failed, in one line, where the answer is partial (exit 3, 4 and 130)
    failed: str | None = None  # its slug: script-failed | no-answer | interrupted
    schema: str = "breakeven/why/1"
