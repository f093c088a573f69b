"""Checks of what `breakeven why` is pointed at: the script or module, and the mark. Nothing of the user's is run for it."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from breakeven.errors import InputError


def check_script(name: str) -> None:
    """Makes sure that there is such a script, or such a module for `python -m`.

    Raises:
        InputError: there is none, or it is a directory, or it cannot be read.
    """
    path = Path(name)
    if path.is_dir():
        raise InputError(f"{name!r} is a directory; name the script in it")
    if path.exists():
        if not os.access(path, os.R_OK):
            raise InputError(f"{name!r} cannot be read; check its permissions")
        return
    if name.endswith(".py") or os.sep in name or not _is_module(name):
        raise InputError(f"no script or module {name!r} here ({Path.cwd()}); check the name")


def check_mark(mark: str | None) -> None:
    """Makes sure that `--mark` names a line of a file.

    Raises:
        InputError: it has not the form FILE:LINE, or there is no such line.
    """
    if mark is None:
        return
    file, _, line = mark.rpartition(":")
    if not file or not (line.isascii() and line.isdigit()) or int(line) < 1:
        raise InputError(f"--mark {mark!r}: write FILE:LINE, as in train.py:31")
    try:
        with open(file, "rb") as stream:
            count = sum(1 for _ in stream)
    except OSError as error:
        raise InputError(f"--mark {mark!r}: {file!r} cannot be read; write FILE:LINE, as in train.py:31") from error
    if int(line) > count:
        raise InputError(f"--mark {mark!r}: {file} has only {count} lines")


def _is_module(name: str) -> bool:
    """Whether Python would find the module's first part; what is within it is left to the run."""
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    return PathFinder.find_spec(name.partition(".")[0], [str(Path.cwd()), *sys.path]) is not None
