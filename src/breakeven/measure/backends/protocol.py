"""What a device has to offer so that time on it can be measured. Backends hold to it by shape; they do not import it."""

from __future__ import annotations

from typing import Protocol


class Backend(Protocol):
    """One device. It imports its framework only when a function is called, and only in a process that has it."""

    @property
    def device(self) -> str:
        """What PyTorch calls it: `cpu`, `cuda:0`, `mps`, `xpu:0`."""

    @property
    def asynchronous(self) -> bool:
        """Whether a call may return before the device has done what was asked for."""

    def is_present(self) -> bool:
        """Whether the device can be used now."""

    def name(self) -> str:
        """The device's name, as its driver gives it."""

    def synchronise(self) -> None:
        """Wait until the device has done all that it was asked to do."""

    def clock_ns(self) -> int:
        """The clock of the process that issues the work, in nanoseconds; it never goes back."""

    def energy_j(self) -> float | None:
        """Energy that the device has used since some fixed moment, in joules; None: it cannot be read."""

    def slowed(self) -> str | None:
        """Why the device runs slower than it could right now (`thermal`, `power`); None: it does not, or does not say."""
