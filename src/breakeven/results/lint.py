"""The records of `lint`; their field names are those of its JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LintFinding:
    """A place in a file that may cost time: it says "may", for nothing was measured."""

    code: str
    id: str
    file: str
    line: int
    column: int
    text: str
    message: str
    remedies: tuple[str, ...]


@dataclass(frozen=True)
class LintReport:
    """What was found in some files."""

    findings: tuple[LintFinding, ...]
    files: int
    warnings: tuple[str, ...] = ()
