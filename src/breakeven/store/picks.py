"""Devices that were picked, one small file per job, in the user's folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from breakeven.errors import BreakevenError
from breakeven.results.picking import Pick
from breakeven.store.cards import home
from breakeven.store.local import Local

_PICKS: Final = "picks"


def read_pick(key: str) -> Pick | None:
    """What was picked for a job; None where nothing was, or where the file cannot be read (it is measured again then)."""
    content = Local(str(home() / _PICKS)).read(f"{key}.json")
    return None if content is None else _decoded(content)


def keep_pick(pick: Pick) -> bool:
    """Remember a pick under its key; whether that could be done (a full or read-only disk takes no answer away)."""
    folder = home() / _PICKS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        Local(str(folder)).write(f"{pick.key}.json", msgspec.json.format(msgspec.json.encode(pick), indent=2) + b"\n")
    except (OSError, BreakevenError):
        return False
    return True


def latest_pick() -> Pick | None:
    """The one that was measured last."""
    picks = [pick for file in _files() if (pick := _decoded(file.read_bytes())) is not None]
    return max(picks, key=lambda pick: pick.at, default=None)


def forget_picks() -> int:
    """Delete all of them; how many there were."""
    files = _files()
    for file in files:
        with suppress(FileNotFoundError):
            file.unlink()
    return len(files)


def _files() -> list[Path]:
    return sorted((home() / _PICKS).glob("*.json"))


def _decoded(content: bytes) -> Pick | None:
    try:
        pick = msgspec.json.decode(content, type=Pick)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return pick if pick.schema == Pick.schema else None
