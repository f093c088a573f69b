"""Text that is safe to show: nothing of a user's file steers the terminal, and ASCII where nothing else can be shown."""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len
from rich.text import Text

#: What stands for the signs of the page where the terminal knows only ASCII.
_ASCII = str.maketrans(
    {
        "×": "x", "≈": "~", "±": "+/-", "–": "-", "—": "-", "−": "-", "µ": "u", "·": "-", "…": "...", "→": "->", "•": "*",
        "“": '"', "”": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "²": "^2", "³": "^3", "\u00a0": " ", "\u202f": " ",
        "█": "#", "─": "-", "═": "=", "━": "-",
    }
)  # fmt: skip
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # control, format (bidirectional marks among them), surrogates, line separators


def clean(text: str, ascii_only: bool = False) -> str:
    """`text` on one line, without characters that steer a terminal, and in ASCII where asked for.

    >>> clean("loss\\x1b[31m = 1", ascii_only=False), clean("≈ 2×", ascii_only=True)
    ('loss?[31m = 1', '~ 2x')
    """
    safe = without_steering(" ".join(text.split()))
    return safe.translate(_ASCII).encode("ascii", "replace").decode() if ascii_only else safe


def without_steering(text: str) -> str:
    """`text` with its spaces, and a question mark for each character that steers a terminal or turns the direction of text."""
    return "".join("?" if unicodedata.category(c) in _UNSEEN else c for c in text)


def shorten(text: str, width: int, ascii_only: bool = False) -> str:
    """`text` in at most `width` cells of the terminal; what is cut off is marked."""
    if cell_len(text) <= width:
        return text
    mark = "..." if ascii_only else "…"
    kept = Text(text)
    kept.truncate(max(width - len(mark), 0))
    return kept.plain.rstrip() + mark


def shorten_path(path: str, width: int, ascii_only: bool = False) -> str:
    """A path in at most `width` cells: its end says more than its beginning."""
    if cell_len(path) <= width:
        return path
    mark = "..." if ascii_only else "…"
    return mark + path[-max(width - len(mark), 1) :]
