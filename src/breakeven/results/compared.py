"""Records of `breakeven compare`: what differs between two answers, cause by cause."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.records import Interval


@dataclass(frozen=True)
class Change:
    """One cause's part of a step, second less first.

    Attributes:
        id: the finding that the cause belongs to; None: it has none.
        cause: of the account.
        ms: what a step of the second takes more for it.
        real: it lies outside both intervals.
        first_ms: its part of a step of the first.
        second_ms: its part of a step of the second.
    """

    id: str | None
    cause: str
    ms: float
    real: bool
    first_ms: float
    second_ms: float


@dataclass(frozen=True)
class CompareReport:
    """The whole answer of `breakeven compare`."""

    first: str
    second: str
    step_ms: tuple[Interval | None, Interval | None]
    changes: tuple[Change, ...]
    devices: tuple[str, str]
    warnings: tuple[str, ...] = ()
    sources: tuple[str, str] = ("measured", "measured")  # or predicted
    schema: str = "breakeven/compare/1"
