"""Edits of the user's source, one per remedy that can be carried out by changing text: formatting and comments are kept.

An edit changes what it can show to be safe and leaves the rest; where nothing is left to change it refuses and says why.
LibCST is imported by the functions here, not by importing this room.
"""

from __future__ import annotations

from collections.abc import Mapping

from breakeven.errors import InputError
from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit, Promise

__all__ = ["Edit", "Edited", "Promise", "Refused", "Sites", "edit", "edits"]


def edits() -> Mapping[str, Edit]:
    """Every remedy that edits source, by its id."""
    from breakeven.remedies.edits.acts import EDITS

    return {one.id: one for one in EDITS}


def edit(remedy_id: str, path: str, text: str, lines: tuple[int, ...] | None = None) -> Edited | Refused:
    """The text with the remedy carried out, or why it was left as it is.

    Args:
        remedy_id: which remedy.
        path: the file's name, for messages.
        text: the file's text.
        lines: the lines (from 1) that a finding points to; None: every place that is safe.

    Raises:
        InputError: the text is not Python, or no edit has this id.
    """
    from breakeven.remedies.edits.source import Source

    known = edits()
    if remedy_id not in known:
        raise InputError(f"no edit of source is called {remedy_id!r}; there are: {', '.join(sorted(known))}")
    done = known[remedy_id].apply(Source.read(path, text), Sites(None if lines is None else frozenset(lines)))
    return Refused("nothing is left to change") if isinstance(done, Edited) and done.text == text else done
