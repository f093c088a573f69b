"""Collects facts while the script runs: each once per line, with a count, so that a loop cannot fill the memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.capture.virtual.facts import Fact
from breakeven.capture.virtual.sites import NOWHERE, Sites


@dataclass
class _Note:
    kind: str
    sentence: str
    sites: tuple[int, ...]
    values: dict[str, Any]  # JSON values
    count: int = 1


@dataclass
class Notes:
    """What was noticed, in order."""

    sites: Sites
    warnings: dict[str, None] = field(default_factory=dict)
    _notes: dict[tuple[str, tuple[int, ...], str], _Note] = field(default_factory=dict)

    def note(self, kind: str, sentence: str, *sites: int, **values: Any) -> None:  # JSON values
        """Add a fact, or count it once more where this line has it already (its values stay those of the first time)."""
        key = (kind, sites, str(values.get("op", "")))
        found = self._notes.get(key)
        if found is None:
            self._notes[key] = _Note(kind, sentence, sites, values)
            return
        found.count += 1

    def here(self, kind: str, sentence: str, **values: Any) -> None:  # JSON values
        """Add a fact about the line that is running."""
        self.note(kind, sentence, self.sites.here(3), **values)

    def warn(self, sentence: str) -> None:
        """Say once what the recording cannot do."""
        self.warnings[sentence] = None

    def facts(self) -> Mapping[str, tuple[Fact, ...]]:
        """Facts by kind, in the order noticed."""
        found: dict[str, list[Fact]] = {}
        for note in self._notes.values():
            where = tuple(s for s in (self.sites.at(n) for n in note.sites if n != NOWHERE) if s is not None)
            found.setdefault(note.kind, []).append(Fact(note.kind, note.sentence, where, note.values | {"count": note.count}))
        return {kind: tuple(facts) for kind, facts in found.items()}
