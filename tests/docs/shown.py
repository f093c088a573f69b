"""What the pages show people to type, page by page: calls of breakeven, and snippets of Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@dataclass(frozen=True)
class Shown:
    """One thing to type.

    Attributes:
        page: the page's file.
        text: the call, or the snippet.
    """

    page: str
    text: str


def calls() -> list[Shown]:
    """Each call of breakeven that a page shows on a line of its own, or as code in a text or table."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        shown = re.findall(r"^ {4,}(?:\$ |\.venv/bin/)?(breakeven [a-z].*?)(?: {2,}#.*)?$", text, re.M)
        shown += re.findall(r"`(breakeven [a-z][^`]*)`", text)
        found += [Shown(page.name, " ".join(call.split())) for call in shown if " · " not in call]
    return sorted(set(found), key=lambda one: (one.page, one.text))


def is_synopsis(call: str) -> bool:
    """Whether a call only names a verb, or shows its form with brackets and dots."""
    return len(call.split()) == 2 or "[" in call or "…" in call or "..." in call


def snippets() -> list[Shown]:
    """Each fenced block of Python."""
    found = []
    for page in PAGES:
        blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
        found += [Shown(page.name, block) for block in blocks]
    return found
