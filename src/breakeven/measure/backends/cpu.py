"""The CPU: what it is asked is done when the call returns."""

from __future__ import annotations

import platform


def is_present() -> bool:
    """Always."""
    return True


def name() -> str:
    """The processor's name, where the system says it."""
    return platform.processor() or platform.machine()


def synchronise() -> None:
    """Nothing to wait for."""
