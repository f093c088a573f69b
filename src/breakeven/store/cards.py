"""Cards: what a user's settled forecasts taught about each device, one small file per device, with a way back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from breakeven.errors import InputError
from breakeven.results.settled import Lesson
from breakeven.store.local import Local

#: Environment variable that names the folder of what belongs to the user.
HOME: Final = "BREAKEVEN_HOME"
_CARDS: Final = "cards"
_SCHEMA: Final = "breakeven/card/1"


class Card(msgspec.Struct, frozen=True):
    """All lessons on one device, oldest first."""

    device: str
    lessons: tuple[Lesson, ...] = ()
    schema: str = _SCHEMA


def home() -> Path:
    """The user's folder: `BREAKEVEN_HOME`, else `breakeven` in the user's data folder (XDG)."""
    named = os.environ.get(HOME)
    if named:
        return Path(named).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data and os.path.isabs(data) else Path.home() / ".local" / "share") / "breakeven"


def read_card(device: str) -> Card:
    """A device's card; one without lessons where there is no file.

    Raises:
        InputError: the file is damaged, or of a newer version.
    """
    file = home() / _CARDS / _file(device)
    content = Local(str(file.parent)).read(file.name)
    if content is None:
        return Card(device)
    try:
        card = msgspec.json.decode(content, type=Card)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is no card that can be read ({error}); delete it to start over") from error
    if card.schema != _SCHEMA:
        raise InputError(f"{file} has schema {card.schema!r}; this version reads {_SCHEMA!r}: upgrade breakeven, or delete it")
    return card


def add_lessons(device: str, lessons: Iterable[Lesson]) -> Card:
    """Writes further lessons on a device's card, those that it does not hold yet; the file is replaced whole."""
    card = read_card(device)
    known = {lesson.forecast for lesson in card.lessons}
    new = tuple(lesson for lesson in lessons if lesson.forecast not in known)
    return _write(Card(device, (*card.lessons, *new))) if new else card


def undo() -> tuple[tuple[Card, ...], tuple[Card, ...]]:
    """Takes back the last settlement, on every card that learned from it.

    Returns:
        Those cards before and after.

    Raises:
        InputError: there is nothing to take back.
    """
    cards = _all()
    last = max((lesson.at for card in cards for lesson in card.lessons), default=None)
    if last is None:
        raise InputError(f"nothing was settled yet: there are no cards in {home() / _CARDS}")
    touched = tuple(card for card in cards if any(lesson.at == last for lesson in card.lessons))
    return touched, tuple(_write(Card(c.device, tuple(le for le in c.lessons if le.at != last))) for c in touched)


def _all() -> list[Card]:
    folder = home() / _CARDS
    found = []
    for name in Local(str(folder)).names():
        if name.endswith(".json"):
            content = Local(str(folder)).read(name) or b""
            try:
                found.append(read_card(msgspec.json.decode(content, type=Card).device))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"{folder / name} is no card that can be read ({error}); delete it to start over") from error
    return found


def _write(card: Card) -> Card:
    folder = home() / _CARDS
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {(error.strerror or str(error)).lower()}; {HOME} names another") from error
    if card.lessons:
        Local(str(folder)).write(_file(card.device), msgspec.json.format(msgspec.json.encode(card), indent=2) + b"\n")
    else:
        (folder / _file(card.device)).unlink(missing_ok=True)
    return card


def _file(device: str) -> str:
    return (re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-") or "device") + ".json"
