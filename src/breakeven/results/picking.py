"""Records of `breakeven.pick`: what was tried on each device, and what was chosen. Missing is None, never zero."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Trial:
    """A few steps on one device.

    Attributes:
        device: as PyTorch calls it.
        name: as its driver calls it.
        step_ms: median time of a step, waited for; None: it failed or did not end in time.
        steps: steps that were timed after the first.
        first_ms: the first step, set-up and all; None: it did not end.
        error: what the step raised on this device; None: it did not fail.
    """

    device: str
    name: str
    step_ms: float | None = None
    steps: int = 0
    first_ms: float | None = None
    error: str | None = None


@dataclass(frozen=True)
class Pick:
    """A device that was chosen, and why.

    Attributes:
        device: as PyTorch calls it.
        sentence: the reason in words.
        trials: what was measured, in the order of the devices.
        decided: every device was measured, or failed; only then the choice is remembered.
        key: fingerprint of code, shapes and machine.
        seconds: that the choice took.
        at: when it was measured, in UTC.
    """

    device: str
    sentence: str
    trials: tuple[Trial, ...]
    decided: bool
    key: str = ""
    seconds: float = 0.0
    at: str = ""
    schema: str = "breakeven/pick/1"
