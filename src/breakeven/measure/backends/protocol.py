"""What a device has to offer so that time on it can be measured."""

from __future__ import annotations

from typing import Protocol


class Backend(Protocol):
    """One kind of device. A module of this room offers these functions; it imports its framework only when one is called."""

    def is_present(self) -> bool:
        """Whether a device of this kind can be used now."""

    def name(self) -> str:
        """The device's name, as its driver gives it."""

    def synchronise(self) -> None:
        """Wait until the device has done all that it was asked to do."""
