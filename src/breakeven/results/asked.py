"""The records of `breakeven ask`; their field names are those of the JSON. A claim is neither measured nor predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.results.records import BreakEven, DeviceResult, Interval, Remedy, Verdict


@dataclass(frozen=True)
class Claim:
    """A time that somebody reports, beside what can be expected there.

    Attributes:
        device: cpu, or a GPU's catalog name.
        ms: the reported time of a step.
        expected_ms: what is expected on such a device.
        plausible: whether it lies in that range.
        sentence: both, in words.
    """

    device: str
    ms: float
    expected_ms: Interval
    plausible: bool
    sentence: str


@dataclass(frozen=True)
class Point:
    """Both devices' steps at one batch size."""

    batch: int
    cpu_ms: Interval
    gpu_ms: Interval


@dataclass(frozen=True)
class AskReport:
    """The whole answer of `breakeven ask`.

    Attributes:
        net: the network as it was asked for, a line or a file.
        batch, length: samples a step, time steps of a sequence.
        optimizer: None: nothing is trained.
        parameters: numbers that the network learns.
        step_flops: arithmetic of a step, from its shapes.
        devices: the CPU here (measured), the CPU asked about (predicted, where it is another), the GPU (predicted).
        claims: reported times, judged.
        regime: what the GPU's step is made of, in a sentence; `cause`: the largest part of its account.
        curve: both devices at several batch sizes.
    """

    net: str
    batch: int
    length: int | None
    optimizer: str | None
    parameters: int
    step_flops: float
    devices: tuple[DeviceResult, ...]
    claims: tuple[Claim, ...]
    cause: str | None
    regime: str
    verdict: Verdict | None
    break_even: BreakEven | None
    curve: tuple[Point, ...]
    remedies: tuple[Remedy, ...]
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)
    schema: str = "breakeven/ask/1"
