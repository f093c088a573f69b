"""Puts a page on a stream: as wide, as colourful and with such signs as that stream can show."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TextIO

from rich.console import Console, RenderableType

#: A page: what to show, given a width and whether only ASCII can be shown.
Page = Callable[[int, bool], RenderableType]

#: Signs that the pages draw with; a stream that cannot encode one of them gets ASCII.
_NEEDED = "█▓▒░╌═┄╱▪≡≈×±–µ…·"


# In a notebook Rich would put out HTML of its own beside what is captured, even where that is empty; `force_jupyter` forbids it.


def show(page: Page, stream: TextIO) -> None:
    """Prints a page. Colours follow the terminal, NO_COLOR and TERM=dumb; the width follows the terminal or COLUMNS."""
    ascii_only = not encodes(stream)
    console = Console(file=stream, highlight=False, emoji=False, markup=False, force_jupyter=False)
    with console.capture() as capture:
        console.print(page(console.width, ascii_only))
    encoding = stream.encoding or "utf-8"
    stream.write(trimmed(capture.get()).encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def as_text(page: Page, width: int = 80, ascii_only: bool = False) -> str:
    """A page as plain text, for tests and files."""
    console = Console(
        file=io.StringIO(), width=width, color_system=None, highlight=False, emoji=False, markup=False, force_jupyter=False
    )
    with console.capture() as capture:
        console.print(page(width, ascii_only))
    return trimmed(capture.get())


def encodes(stream: TextIO) -> bool:
    """Whether a stream can show the signs that the pages draw with."""
    try:
        _NEEDED.encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def trimmed(text: str) -> str:
    """Without spaces at the ends of lines, and one line end at the end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip() + "\n"
