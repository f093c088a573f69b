"""What an edit is: what it promises, and the function that carries it out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from breakeven.remedies.edits.answers import Edited, Refused, Sites

if TYPE_CHECKING:
    from breakeven.remedies.edits.source import Source

#: What the edited training computes: the same bits; the same within a tolerance; or something else, which only a race can judge.
Promise = Literal["bitwise", "tolerance", "changes_mathematics"]


@dataclass(frozen=True)
class Edit:
    """One remedy's edit of source.

    Attributes:
        id: the remedy's id.
        promise: what the edited training computes.
        tolerance: the greatest relative difference of losses and parameters after a few steps; None unless the
            promise is a tolerance.
        apply: reads the source, gives the new text or a reason.
        safe_when: when it may be applied; what the edit checks.
        unsafe_when: what it cannot see, and the user must judge; what makes it refuse.
        changes: what it changes in the numbers and in what the script shows.
    """

    id: str
    promise: Promise
    tolerance: float | None
    apply: Callable[[Source, Sites], Edited | Refused]
    safe_when: str
    unsafe_when: str
    changes: str
