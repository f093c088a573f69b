"""Calls into code that is not ours: a user's step, what a user's objects do when they are pickled, a file system's plug-in.

Such code may raise anything. This is the one place, beside the door of the command line and the child that runs a script, where
any exception is caught; who calls says what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Outcome(Generic[T]):
    """What a call gave: `value`, unless `error` says what it raised."""

    value: T | None
    error: Exception | None = None


def attempt(call: Callable[[], T]) -> Outcome[T]:
    """Call it; whatever it raises is handed back. What ends a program (`KeyboardInterrupt`, `SystemExit`) goes through."""
    try:
        return Outcome(call())
    except Exception as error:  # noqa: BLE001  # not our code: whatever it raises
        return Outcome(None, error)
