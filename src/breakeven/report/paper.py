"""What a page is set on: its width and the signs that it can show."""

from __future__ import annotations

from dataclasses import dataclass

from rich.padding import Padding
from rich.text import Text

from breakeven.report.text import clean, shorten, shorten_path

LEAST_WIDTH = 40
MOST_WIDTH = 120  # longer lines are hard to read


@dataclass(frozen=True)
class Paper:
    """The width in cells, and whether only ASCII can be shown."""

    width: int
    ascii_only: bool = False

    def text(self, words: str, style: str = "", indent: int = 0) -> Text | Padding:
        """Words made safe to show; never read as markup. Indented text wraps within its indent."""
        text = Text(clean(words, self.ascii_only), style=style)
        return Padding(text, (0, 0, 0, indent)) if indent else text

    def short(self, words: str, width: int) -> str:
        """Words on one line of at most `width` cells."""
        return shorten(clean(words, self.ascii_only), width, self.ascii_only)

    def short_path(self, path: str, width: int) -> str:
        """A path on one line of at most `width` cells; its beginning goes first."""
        return shorten_path(clean(path, self.ascii_only), width, self.ascii_only)
