"""What was replaced, so that it can be put back in reverse order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ABSENT = object()


class Patches:
    """A stack of replaced attributes and of things to undo."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []

    def set(self, owner: Any, name: str, value: Any) -> Any:  # Any: modules, classes and what they hold
        """Replace `owner.name`; returns what was there (through inheritance too), None where nothing was."""
        before = vars(owner).get(name, _ABSENT)
        found = getattr(owner, name, None)

        def undo() -> None:
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        setattr(owner, name, value)
        self._undo.append(undo)
        return found

    def on_undo(self, act: Callable[[], None]) -> None:
        """Run `act` when everything is put back."""
        self._undo.append(act)

    def undo(self) -> None:
        """Put everything back, the last first."""
        while self._undo:
            self._undo.pop()()
