"""A cell that was run: what it was asked, what it came to, and what was recorded."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.records import Interval
from breakeven.sweep.names.found import Value
from breakeven.timeline import OpStream


@dataclass(frozen=True)
class Ran:
    """One cell that was run.

    Attributes:
        position: among the grid's cells.
        asked: the values that it was given.
        values: the values that it worked with: less than asked where the script's data give no more.
        step_ms: its step on this CPU; None: not measured.
        batch: samples in a step; None: not known.
        stream: what it asks a GPU for; None: not recorded.
        disturbed: other processes worked while it was timed.
        setup_ms: what its first step took beyond a steady one; None: not known.
    """

    position: int
    asked: tuple[Value, ...]
    values: tuple[Value, ...]
    step_ms: Interval | None
    batch: int | None = None
    stream: OpStream | None = None
    disturbed: bool = False
    setup_ms: float | None = None
