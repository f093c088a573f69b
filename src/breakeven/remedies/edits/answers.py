"""What an edit is asked about, and what it answers with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sites:
    """The places that an edit may touch.

    Attributes:
        lines: lines from 1; None: the whole file.
    """

    lines: frozenset[int] | None

    def touch(self, *spans: tuple[int, int]) -> bool:
        """Whether one of the spans (first line, last line) holds a line that is asked about."""
        return self.lines is None or any(first <= line <= last for first, last in spans for line in self.lines)


@dataclass(frozen=True)
class Edited:
    """A text with a remedy carried out.

    Attributes:
        text: the whole new text.
        lines: the lines of the old text where something changed.
        note: what the user should know about this change, in a sentence; empty where there is nothing to say.
    """

    text: str
    lines: tuple[int, ...]
    note: str = ""


@dataclass(frozen=True)
class Refused:
    """Nothing was changed.

    Attributes:
        reason: why, in a clause that can follow "left as it is: ".
    """

    reason: str
