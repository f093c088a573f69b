"""The user's source with prices beside its lines: whole short files, and of long ones what surrounds a priced line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from breakeven.results import Finding
from breakeven.results.pictured import LinePrice, Pictured

#: Lines of a file that is shown whole; of a longer one each priced line with so many around it.
_WHOLE, _AROUND = 60, 3
#: Files and lines shown at most, the dearest files first.
_FILES, _LINES = 6, 1500


@dataclass(frozen=True)
class Note:
    """What a finding says of a line."""

    id: str
    device: str
    price: object  # an Interval, or None


@dataclass(frozen=True)
class Line:
    """One line of a file; `number` 0 stands for lines left out."""

    number: int
    text: str
    price: LinePrice | None
    notes: tuple[Note, ...]
    heat: int  # 0 to 5: its part of the dearest line


@dataclass(frozen=True)
class File:
    """One file."""

    name: str
    lines: tuple[Line, ...]


def source_files(pictured: Pictured, findings: Sequence[Finding]) -> tuple[File, ...]:
    """The files, the dearest first; lines whose file could not be read are shown alone."""
    prices = {(p.file, p.line): p for p in pictured.lines}
    notes: dict[tuple[str, int], list[Note]] = {}
    for finding in findings:
        for site in finding.sites:
            notes.setdefault((site.file, site.line), []).append(Note(finding.id, finding.device, site.price_ms))
    texts = {(p.file, p.line): p.text for p in pictured.lines}
    texts |= {(s.file, s.line): s.text for f in findings for s in f.sites}
    most = max((_whole(p) for p in prices.values()), default=0.0)
    cost: dict[str, float] = {}
    for file, line in texts:
        price = prices.get((file, line))
        cost[file] = cost.get(file, 0.0) + (_whole(price) if price else 0.0)
    files, room = [], _LINES
    for name in sorted(cost, key=lambda file: (-cost[file], file))[:_FILES]:
        known = {line: text for (file, line), text in texts.items() if file == name}
        numbered = _numbered(known, pictured.sources.get(name))[:room]
        room -= len(numbered)
        lines = tuple(
            Line(n, text, prices.get((name, n)), tuple(notes.get((name, n), ())), _heat(prices.get((name, n)), most))
            for n, text in numbered
        )
        files.append(File(name, lines))
    return tuple(files)


def _numbered(known: dict[int, str], source: str | None) -> list[tuple[int, str]]:
    """Line numbers and texts in order, with a 0 where lines are left out."""
    if source is None:
        return sorted(known.items())
    lines = source.splitlines()
    wanted = set(range(1, len(lines) + 1))
    if len(lines) > _WHOLE:
        wanted = {n for at in known for n in range(at - _AROUND, at + _AROUND + 1) if 1 <= n <= len(lines)}
    found: list[tuple[int, str]] = []
    for n in sorted(wanted):
        if found and found[-1][0] != n - 1:
            found.append((0, "…"))
        found.append((n, lines[n - 1]))
    return found


def _heat(price: LinePrice | None, most: float) -> int:
    return 0 if price is None or most <= 0 else min(5, round(5 * _whole(price) / most + 0.49))


def _whole(price: LinePrice) -> float:
    return price.host_ms + max(price.device_ms.values(), default=0.0)
