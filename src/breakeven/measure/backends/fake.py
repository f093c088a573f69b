"""A device for tests: it is always there, takes no time, and counts how often it was waited for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Fake:
    """A backend object; `waits` counts calls of `synchronise`."""

    present: bool = True
    waits: int = 0

    def is_present(self) -> bool:
        """As it was told."""
        return self.present

    def name(self) -> str:
        """Its name."""
        return "fake"

    def synchronise(self) -> None:
        """Count."""
        self.waits += 1
