"""Changes the user's file: whole or not at all, with the text as it was kept beside it.

The order matters: the backup is written and forced to the disk first, then the new text takes the script's name (`atomic`). A
kill at any moment leaves the old text or the new one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from breakeven import atomic
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
            atomic.write(backup, expected, mode)
        atomic.write(target, new, mode)
    except OSError as error:
        raise InputError(f"cannot write {script}: {(error.strerror or str(error)).lower()}; it is as it was") from error
    return backup


def _place(target: Path, content: bytes) -> Path:
    backup = target.with_name(target.name + BACKUP)
    if backup.exists() and backup.read_bytes() != content:
        return target.with_name(f"{target.name}{BACKUP}-{hashlib.sha256(content).hexdigest()[:8]}")
    return backup
