"""Who races: a script on each device, with each value of a parameter, before and after remedies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from breakeven.capture.proof.arms import Version
from breakeven.capture.request import CaptureRequest
from breakeven.errors import InputError, NoAnswer
from breakeven.measure.known import split_name
from breakeven.measure.present import SYNCHRONISE
from breakeven.remedies import remedy
from breakeven.remedies.edits import Edited, edit, edits
from breakeven.sweep.grid import axis
from breakeven.sweep.job import Job
from breakeven.sweep.names import bind

#: What stands before the remedies' names, and for the script without them.
BEFORE, WITH = "as it is", "with "


@dataclass(frozen=True)
class Entry:
    """One of those that race.

    Attributes:
        device: as it was asked for.
        variant: what is different about it: `batch=64`, `as it is`, `with pin_memory`; empty: nothing.
        version: how it runs.
    """

    device: str
    variant: str
    version: Version


@dataclass(frozen=True)
class _Variant:
    name: str
    request: CaptureRequest
    text: str | None = None


def entries(
    asked: CaptureRequest, module: bool, file: Path | None, devices: Sequence[str], vary: str | None, remedies: Sequence[str]
) -> tuple[Entry, ...]:
    """All that race, device by device.

    Args:
        asked: how the script is called; `target` is resolved.
        module: `target` is a module's name.
        file: its source; None: it has none.
        devices: names such as `cpu` and `cuda`.
        vary: `NAME=a,b,c` as `sweep` takes it; None: nothing is varied.
        remedies: carried out together, against the script as it is.

    Raises:
        InputError: no such parameter, value or remedy; or too much at once.
        NoAnswer: a remedy finds nothing to change in the script.
    """
    variants = _variants(asked, file, vary, remedies)
    found = []
    for device in devices:
        here = split_name(device)[0] == "cpu"
        for one in variants:
            request = one.request if here else replace(one.request, synchronise=SYNCHRONISE)
            path = str(file) if file is not None else asked.target
            found.append(Entry(device, one.name, Version(request, module, path, one.text, here)))
    return tuple(found)


def _variants(asked: CaptureRequest, file: Path | None, vary: str | None, remedies: Sequence[str]) -> list[_Variant]:
    if vary is None and not remedies:
        return [_Variant("", asked)]
    if vary is not None and remedies:
        raise InputError("--vary and --remedy at once: race one of them, then the other with what has won")
    if file is None:
        raise InputError(f"{asked.target}: there is no source to change")
    if vary is not None:
        values = axis(vary)
        job = Job(asked, (bind(values.name, file),))
        made = [(f"{values.name}={value}", job.of_cell((value,), asked.passes)) for value in values.values]
        return [_Variant(name, replace(request, show_output=asked.show_output)) for name, request in made]
    names = list(dict.fromkeys(remedy(name).id for name in remedies))
    return [_Variant(BEFORE, asked), _Variant(WITH + ", ".join(names), asked, _remedied(names, file))]


def _remedied(names: Sequence[str], file: Path) -> str:
    """The script's text with all of the remedies."""
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{file.name}: only scripts in UTF-8 can be edited") from None
    for name in names:
        done = edit(name, str(file), text) if name in edits() else None
        if not isinstance(done, Edited):
            why = done.reason if done is not None else "it has no edit of source"
            raise NoAnswer(f"{name} changes nothing in {file.name}: {why}")
        text = done.text
    return text
