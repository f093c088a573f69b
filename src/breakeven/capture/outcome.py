"""How a child ends and what it leaves in its folder: written whole or not at all, at every milestone."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from breakeven.capture.request import ScriptEnd

#: Names in a child's folder.
SPEC: Final = "spec.json"
RESULT: Final = "result.json"
BEGAN: Final = "began"  # there once the script itself is being run
CALLS, ROWS = "calls.parquet", "rows.parquet"

_Record = TypeVar("_Record")
_replace, _open, _write, _close = os.replace, os.open, os.write, os.close


def write(folder: str, name: str, record: object) -> None:
    """Write a record as JSON; whoever reads sees the old one or the new one, never a part."""
    write_bytes(folder, name, msgspec.json.encode(record))


def write_bytes(folder: str, name: str, data: bytes) -> None:
    """Write a file whole or not at all, past everything that is redirected."""
    new = os.path.join(folder, f".{name}.new")
    handle = _open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        while data:
            data = data[_write(handle, data) :]
    finally:
        _close(handle)
    _replace(new, os.path.join(folder, name))


def read(folder: Path, name: str, kind: type[_Record]) -> _Record | None:
    """The record that a child left; None: it left none."""
    try:
        return msgspec.json.decode((folder / name).read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def ended_by(error: BaseException) -> ScriptEnd:
    """How a script ended that let this exception out."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return ScriptEnd("exit", f"sys.exit({error.code or 0})", (error.code or 0) & 0xFF)
        return ScriptEnd("exit", str(error.code), 1)
    text = "".join(str(error).splitlines()[:1])
    return ScriptEnd("exception", f"{type(error).__name__}: {text}" if text else type(error).__name__, 1)


def peak_rss_bytes() -> int:
    """Peak resident memory of this process so far (`ru_maxrss` is in KiB on Linux, in bytes on macOS)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
