"""The net under the overlay: whatever still tries to write outside the scratch folder is refused.

Where the kernel has Landlock (Linux 5.13 and later), it refuses for this process and all that it starts, C code included, at no
cost. Elsewhere an audit hook refuses what Python itself opens; what C code opens by itself is then not seen.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

# linux/landlock.h: rights to change the file system, by the version of the interface that brought them
_WRITE_FILE, _REMOVE_DIR, _REMOVE_FILE = 1 << 1, 1 << 4, 1 << 5
_MAKE: Final = sum(1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1
_PR_SET_NO_NEW_PRIVS = 38


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def close(folders: Sequence[str], is_allowed: Callable[[str], bool]) -> str:
    """Refuse every later write outside `folders`; to be called before threads are started.

    Args:
        folders: directories in which all is allowed.
        is_allowed: the same for an absolute path, for the audit hook.

    Returns:
        What does it: `landlock` or `audit`.
    """
    if sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64") and _landlock(folders):
        return "landlock"
    sys.addaudithook(_auditor(is_allowed))
    return "audit"


def _landlock(folders: Sequence[str]) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 2:  # the first one cannot allow a rename from one directory to another
        return False
    rights = _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE | _REFER | (_TRUNCATE if version >= 3 else 0)
    handled = ctypes.c_uint64(rights)
    rules = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(8), 0)
    if rules < 0:
        return False
    try:
        for folder in folders:
            if not _allow(libc, rules, folder, rights):
                return False
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            return False
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _allow(libc: ctypes.CDLL, rules: int, folder: str, rights: int) -> bool:
    try:
        handle = os.open(folder, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there: nothing to allow
        return True
    try:
        rule = _PathBeneath(rights, handle)
        return bool(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(rule), 0) == 0)
    finally:
        os.close(handle)


#: Audit events that change the file system, and which of their arguments are paths.
_EVENTS: Final = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.truncate": (0,), "os.link": (1,),
    "os.symlink": (1,), "os.chmod": (0,), "os.chown": (0,), "os.utime": (0,), "sqlite3.connect": (0,),
}  # fmt: skip


def _auditor(is_allowed: Callable[[str], bool]) -> Callable[[str, tuple[Any, ...]], None]:
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    absolute, decode = os.path.abspath, os.fsdecode

    def hook(event: str, args: tuple[Any, ...]) -> None:  # any event's arguments
        if event == "open":
            if not (isinstance(args[2], int) and args[2] & writes):
                return
            paths: tuple[Any, ...] = (args[0],)
        elif event in _EVENTS:
            paths = tuple(args[at] for at in _EVENTS[event])
        else:
            return
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)) and path != ":memory:" and not is_allowed(absolute(decode(path))):
                raise PermissionError(
                    f"breakeven measures without touching your files; this write could not be redirected: {decode(path)}"
                )

    return hook
