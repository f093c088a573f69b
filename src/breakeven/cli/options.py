"""Options that several commands share, and the checks of their values at the door."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from breakeven.errors import InputError
from breakeven.report.writing import check_target, write_whole

JSON_HELP = "Also write the answer as JSON to this file; - for standard output, and then nothing else goes there."
HTML_HELP = "Also write the answer as a page: one file that loads nothing."
#: The file name that means standard output.
STDOUT = "-"


def check_json(target: str | None, source: str | None = None) -> None:
    """Makes sure that `--json F` can be written, before any work is done.

    Args:
        target: what follows after `--json`.
        source: the file that the command reads, which must not be written over.

    Raises:
        InputError: it cannot be written, or is the source.
    """
    if target is None or target == STDOUT:
        return
    check_target(Path(target), "--json")
    if source is not None and Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise InputError(f"--json {target}: that is the file to be read; choose another name")


def write_json(target: str | None, content: bytes) -> None:
    """Writes the JSON where `--json` says: a file, whole or not at all, or standard output.

    Raises:
        InputError: the file cannot be written.
    """
    if target == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    elif target is not None:
        write_whole(Path(target), content)


def check_html(target: str | None, source: str | None = None) -> None:
    """Makes sure that `--html F` can be written, before any work is done.

    Args:
        target: what follows after `--html`.
        source: the file that the command reads, which must not be written over.

    Raises:
        InputError: it cannot be written, or is the source.
    """
    if target is None:
        return
    check_target(Path(target), "--html")
    if source is not None and Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise InputError(f"--html {target}: that is the file to be read; choose another name")


def write_html(target: str | None, page: Callable[[], bytes]) -> None:
    """Writes the page where `--html` says, whole or not at all; it is made only where it is wanted.

    Raises:
        InputError: the file cannot be written.
    """
    if target is not None:
        write_whole(Path(target), page())


@contextmanager
def stdout_kept(for_json: bool) -> Iterator[None]:
    """While it lasts, whatever anyone writes to standard output, child processes too, goes to standard error instead."""
    if not for_json:
        yield
        return
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(output, 1)
        os.close(output)
