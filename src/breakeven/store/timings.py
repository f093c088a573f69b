"""What earlier runs of `breakeven time` read on this machine, one small file in the user's folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from breakeven.errors import BreakevenError
from breakeven.store.cards import home
from breakeven.store.local import Local

_FILE: Final = "timings.json"
_SCHEMA: Final = "breakeven/timings/1"
#: Readings that are kept, the last ones.
_MOST: Final = 400


class Kept(msgspec.Struct, frozen=True):
    """One reading.

    Attributes:
        job: fingerprint of what was timed; equal for the same thing alone.
        place: the device, the machine and its settings.
        busy: other processes took processors that were wanted.
        ms: median of a call, milliseconds.
    """

    job: str
    place: str
    busy: bool
    ms: float


class _File(msgspec.Struct, frozen=True):
    readings: tuple[Kept, ...] = ()
    schema: str = _SCHEMA


class _Head(msgspec.Struct, frozen=True):
    schema: str = ""


def read_timings() -> tuple[Kept, ...]:
    """All that is kept, oldest first; nothing where there is no file, or none that can be read."""
    try:
        content = Local(str(home())).read(_FILE)
        found = _File() if content is None else msgspec.json.decode(content, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, BreakevenError):
        return ()
    return found.readings if found.schema == _SCHEMA else ()


def keep_timings(readings: Iterable[Kept]) -> bool:
    """Add readings; whether that could be done (a full or read-only disk takes no answer away).

    A file that a newer version wrote stays as it is. Of two runs that end in the same moment one may be forgotten.
    """
    kept = (*read_timings(), *readings)[-_MOST:]
    try:
        if _is_of_another_version():
            return False
        home().mkdir(parents=True, exist_ok=True)
        Local(str(home())).write(_FILE, msgspec.json.encode(_File(kept)) + b"\n")
    except (OSError, BreakevenError):
        return False
    return True


def _is_of_another_version() -> bool:
    content = Local(str(home())).read(_FILE)
    try:
        return content is not None and msgspec.json.decode(content, type=_Head).schema not in ("", _SCHEMA)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
