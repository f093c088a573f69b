"""Functions for tasks of tests: at the top of a module, so that they pickle."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from breakeven.errors import InputError


def double(value: int) -> int:
    return 2 * value


def note(folder: str, name: str) -> str:
    """Leaves a file for each time that it runs."""
    Path(folder, f"{name}.{os.getpid()}.{len(list(Path(folder).iterdir()))}").touch()
    return name


def die_once(folder: str, name: str) -> str:
    """Kills its own process the first time that it runs."""
    flag = Path(folder, f"{name}.died")
    if not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def die(_name: str) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


def refuse(name: str) -> str:
    raise InputError(f"{name} will not")


def slow_note(folder: str, name: str) -> str:
    """Works for a tenth of a second, then leaves a file for each time that it was finished."""
    ended = time.process_time() + 0.1
    while time.process_time() < ended:
        pass
    return note(folder, name)
