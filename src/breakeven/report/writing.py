"""Files that the user named: can they be written, and written whole or not at all. It knows nothing of what is in them."""

from __future__ import annotations

import os
from pathlib import Path

from breakeven import atomic
from breakeven.errors import InputError


def check_target(path: Path, option: str = "the output") -> None:
    """Makes sure, before any work is done, that `path` can be written.

    Args:
        path: the file to write later.
        option: what the user called it, for the message (`--json`).

    Raises:
        InputError: the directory is missing or read-only, or the path is a directory.
    """
    where = f"{option}: cannot write {str(path)!r}"
    if path.is_dir():
        raise InputError(f"{where}: it is a directory; name a file in it")
    parent = path.resolve().parent
    if not parent.exists():
        raise InputError(f"{where}: there is no directory {str(parent)!r}; make it first")
    if not parent.is_dir():
        raise InputError(f"{where}: {str(parent)!r} is not a directory")
    needed = path if path.exists() and not path.is_file() else parent  # a device or a pipe is written in place
    if not os.access(needed, os.W_OK):
        raise InputError(f"{where}: {str(needed)!r} is read-only; choose another place")


def write_whole(path: Path, content: bytes) -> None:
    """Writes `content` so that a reader sees the old file or the new one (`atomic`).

    A link is followed; a device or a pipe (`/dev/stdout`) is written in place, since renaming would replace it.

    Raises:
        InputError: it cannot be written; what was there before is untouched.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                stream.write(content)
            return
        atomic.write(target, content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot write {str(path)!r}: {reason.lower()}; choose another place") from error
