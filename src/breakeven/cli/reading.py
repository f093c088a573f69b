"""How far the reading of large files is, on standard error; only for a person at a terminal, and only past one second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

#: Seconds after which somebody begins to wonder.
_PATIENCE_S: Final = 1.0


@contextmanager
def bytes_on(stream: TextIO) -> Iterator[Callable[[int, int], None]]:
    """Hands out a function that takes the bytes read so far and the size of the file."""
    if not stream.isatty():
        yield _silent
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=_console(stream))
    task = bar.add_task("reading", total=None)
    began = time.monotonic()

    def show(done: int, size: int) -> None:
        if time.monotonic() - began > _PATIENCE_S:
            bar.start()
            bar.update(task, completed=done, total=size)

    try:
        yield show
    finally:
        bar.stop()


def _console(stream: TextIO):  # type: ignore[no-untyped-def]  # Rich is imported when a bar is shown
    from rich.console import Console

    return Console(file=stream, markup=False, highlight=False)


def _silent(done: int, size: int) -> None:
    """Nobody looks."""
