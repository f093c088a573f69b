"""The records of `selftest`: how often each rule found what was planted, and how often it spoke where nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RuleScore:
    """One kind of fault.

    Attributes:
        id: the finding that names it.
        remedy: what the finding should advise.
        planted: scripts that it was planted into.
        found: those in which it was found at its line.
        false_alarms: scripts in which the remedy was advised where its fault was not planted.
        recall: found of planted; None: nothing was planted.
        precision: found of found and false alarms; None: neither.
        tool: what found it: lint, why, or both.
        missed: the scripts in which it was not found.
    """

    id: str
    remedy: str
    planted: int
    found: int
    false_alarms: int
    recall: float | None
    precision: float | None
    tool: str
    missed: tuple[str, ...] = ()


@dataclass(frozen=True)
class SelftestReport:
    """The answer of `breakeven selftest`.

    Attributes:
        rules: one for each kind of fault, and one for each remedy that was advised without any.
        planted: faults planted in all.
        found: of these.
        false_alarms: over all scripts, healthy and not.
        scripts: healthy scripts that the faults were planted into.
        ran: whether scripts were run too, or only read.
        warnings: scripts that gave no answer.
        machine: what it ran on.
    """

    rules: tuple[RuleScore, ...]
    planted: int
    found: int
    false_alarms: int
    scripts: tuple[str, ...]
    ran: bool
    warnings: tuple[str, ...] = ()
    machine: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON values
    schema: str = "breakeven/selftest/1"
