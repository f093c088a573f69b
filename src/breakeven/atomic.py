"""Files that are written whole or not at all, whatever ends the process meanwhile. It knows nothing of what is in them.

The content goes to a file that has no name yet, is forced to the disk, gets a temporary name, and takes the target's in one
rename (Linux's `O_TMPFILE` and `linkat`; where a file system has no unnamed files, the temporary name comes first).
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

#: Files that are being written begin with a dot and end in this: readers pass them over.
UNFINISHED: Final = ".part"
#: What a file system says that has no files without a name.
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.EXDEV, errno.ENOENT, errno.EPERM)


def write(target: Path, content: bytes, mode: int | None = None) -> None:
    """Write all of it under the target's name, or leave what was there.

    Args:
        target: the file; a link is replaced, not followed.
        content: all that it is to hold.
        mode: its permissions; None: those of the file that is replaced, or what any new file gets.

    Raises:
        OSError: it cannot be written; what was there before is untouched.
    """
    new = target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}{UNFINISHED}"
    if mode is None and target.exists():
        mode = target.stat().st_mode & 0o777
    try:
        if not _without_name(new, content):
            _fill(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), content)
        if mode is not None:
            os.chmod(new, mode)
        os.replace(new, target)
    finally:
        with suppress(FileNotFoundError):  # it has the target's name by now
            os.unlink(new)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make a new name last through a loss of power; a system that cannot do so is left as it is."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _without_name(new: Path, content: bytes) -> bool:
    """Make the file so that it appears whole: a process killed meanwhile leaves nothing. False: not on this file system."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return False
    folder = os.open(new.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        handle = os.open(new.parent, flag | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        kept = os.dup(handle)
        try:
            _fill(handle, content)
            # With a folder's descriptor Python calls linkat, which alone can follow the link.
            os.link(f"/proc/self/fd/{kept}", new.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(kept)
    except OSError as error:
        if error.errno in _NO_UNNAMED:
            return False
        raise
    finally:
        os.close(folder)
    return True


def _fill(handle: int, content: bytes) -> None:
    """Write and sync all of it, and close the file."""
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)
