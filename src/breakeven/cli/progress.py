"""What is being done, on standard error, while it is done; only for a person at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

#: Takes what is being done: a phase, and after a colon how far it is (`timing on the CPU: step 34`).
OnProgress = Callable[[str], None]


@contextmanager
def progress_on(stream: TextIO, quiet: bool, shared: bool) -> Iterator[OnProgress]:
    """Shows progress on `stream` if that is a terminal.

    Args:
        stream: standard error.
        quiet: the user wants none.
        shared: the script writes to the same terminal. A line that is rewritten in place would tear its output, so each
            phase then gets one plain line.
    """
    if quiet or not stream.isatty():
        yield _silent
    elif shared:
        yield _Lines(stream)
    else:
        from rich.console import Console

        console = Console(file=stream, markup=False, highlight=False)
        with console.status("starting") as status:
            yield lambda text: status.update(text)


def _silent(text: str) -> None:
    """Nobody looks."""


class _Lines:
    """One line for each phase; it remembers the last, since steps within one are not worth a line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._phase = ""

    def __call__(self, text: str) -> None:
        phase = text.partition(":")[0].strip()
        if phase != self._phase:
            self._phase = phase
            encoding = self._stream.encoding or "ascii"
            self._stream.write(f"breakeven: {phase} ...\n".encode(encoding, "replace").decode(encoding))
            self._stream.flush()
