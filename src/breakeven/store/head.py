"""`run.json`: what a run is. Old numbers of its schema keep opening; a newer one says that it is newer."""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timezone
from typing import Any, Final

import msgspec

from breakeven.errors import InputError

HEAD: Final = "run.json"
#: The number that this version writes. To raise it: defaults for what is new, and a run of the
#: old number among the tests, which must keep opening.
SCHEMA: Final = 1
_SCHEMA = re.compile(r"^breakeven/run/(\d+)$")


class RunHead(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is.

    Attributes:
        schema: `breakeven/run/NUMBER`.
        kind: the verb that made it.
        id: tells it from every other run.
        created: when it was begun, UTC, ISO 8601.
        title: what it is about.
        finished: it is complete.
        settings: what was asked.
        versions: of what took part.
        machine: where it was made.
    """

    schema: str = f"breakeven/run/{SCHEMA}"
    kind: str
    id: str
    created: str
    title: str = ""
    finished: bool = False
    settings: dict[str, Any] = {}  # any JSON values, here and below
    versions: dict[str, str] = {}
    machine: dict[str, Any] = {}


def new_head(kind: str, title: str, settings: dict[str, Any], versions: dict[str, str], machine: dict[str, Any]) -> RunHead:
    """The head of a run that begins now."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")
    return RunHead(
        kind=kind, id=secrets.token_hex(8), created=now, title=title, settings=settings, versions=versions, machine=machine
    )


def head_bytes(head: RunHead) -> bytes:
    """The file, indented for people."""
    return msgspec.json.format(msgspec.json.encode(head), indent=2) + b"\n"


def read_head(content: bytes | None, path: str) -> RunHead:
    """Reads `run.json` of any schema number up to this version's.

    Raises:
        InputError: there is none, it is damaged, or newer.
    """
    if content is None:
        raise InputError(f"{path} holds no run: there is no {HEAD} in it")
    try:
        said = msgspec.json.decode(content)
        found = _SCHEMA.match(str(said.get("schema"))) if isinstance(said, dict) else None
        if found is None:
            raise InputError(f"{path}: its {HEAD} is not one of breakeven")
        if int(found[1]) > SCHEMA:
            raise InputError(
                f"{path} was written by a newer breakeven (run schema {found[1]}; this one reads up to {SCHEMA}): upgrade it"
            )
        return msgspec.convert(said, RunHead)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: its {HEAD} is damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: its {HEAD} is damaged: it is not text") from error
