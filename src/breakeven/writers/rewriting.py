"""Changes the user's file: whole or not at all, with the text as it was kept beside it.

The order matters. The backup is written and forced to the disk first; then the new text goes to a temporary file beside the
script, is forced to the disk, and takes the script's name in one rename. A kill at any moment leaves the old text or the new one.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from breakeven.errors import InputError

#: What the backup's name ends with.
BACKUP = ".before-fix"


def rewrite(script: Path, expected: bytes, new: bytes) -> Path:
    """Put a new text in the place of a script's.

    Args:
        script: the file; a link is followed.
        expected: what it must hold now: what was proven was proven of these bytes.
        new: what it is to hold.

    Returns:
        The backup: the script's name with `.before-fix` at its end; where another text is kept there, with a digest too.

    Raises:
        InputError: the file holds something else by now, or cannot be written; it is then as it was.
    """
    target = script.resolve()
    try:
        if target.read_bytes() != expected:
            raise InputError(f"{script} was changed while it was being proven; nothing was written")
        mode = target.stat().st_mode & 0o7777
        backup = _place(target, expected)
        if not backup.exists():
            _whole(backup, expected, mode)
        _whole(target, new, mode)
    except OSError as error:
        raise InputError(f"cannot write {script}: {(error.strerror or str(error)).lower()}; it is as it was") from error
    return backup


def _place(target: Path, content: bytes) -> Path:
    backup = target.with_name(target.name + BACKUP)
    if backup.exists() and backup.read_bytes() != content:
        return target.with_name(f"{target.name}{BACKUP}-{hashlib.sha256(content).hexdigest()[:8]}")
    return backup


def _whole(target: Path, content: bytes, mode: int) -> None:
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(part, mode)
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where the file system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        return
    finally:
        os.close(handle)
