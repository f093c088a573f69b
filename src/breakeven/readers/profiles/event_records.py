"""Entries of a Chrome trace as typed records, decoded with the few arguments that anything here makes use of.

Which record an entry becomes is told by its `ph`: only events with a length and the names that metadata give are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar, Union

import msgspec

#: A value that profilers write as a number, and some as text.
Number = int | float | str | None


class Arguments(msgspec.Struct, gc=False, frozen=True):
    """Arguments of an event that anything here makes use of; all others are passed over. Numbers that are missing are -1."""

    correlation: Number = -1
    device: Number = -1
    stream: Number = -1
    bytes: Number = -1
    grid: list[int] | None = None
    block: list[int] | None = None
    occupancy: Number = msgspec.field(default=None, name="est. achieved occupancy %")
    step_num: Number = -1
    hlo_op: str | None = None


class Event(msgspec.Struct, gc=False, tag_field="ph", tag="X"):
    """An event with a length; times in microseconds."""

    cat: str = ""
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: Arguments = Arguments()


class LabelArguments(msgspec.Struct, gc=False, frozen=True):
    """What metadata say."""

    name: str | None = None


class Label(msgspec.Struct, gc=False, tag_field="ph", tag="M"):
    """A name that metadata give to a process or a thread."""

    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    args: LabelArguments = LabelArguments()


#: Phases of events that no table needs: flow arrows, counters, instants and the others of the Trace Event Format.
_OTHERS: Final = tuple(
    msgspec.defstruct(f"Other{at}", [], tag_field="ph", tag=phase, gc=False)
    for at, phase in enumerate("BEiICbneSTtpPFfsONDVvRcg(),")
)
#: Record of an entry that is passed over.
Other = msgspec.Struct
Entry = Event | Label | Other


class Loose(msgspec.Struct, gc=False):
    """An entry where types are not as they should be (Any: whatever the file holds)."""

    ph: Any = ""
    cat: Any = ""
    name: Any = ""
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: msgspec.Raw = msgspec.Raw()


_Arguments = TypeVar("_Arguments", Arguments, LabelArguments)

#: What msgspec raises of a text that is no list of entries.
NOT_DECODED: Final = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)

_STRICT: Final = msgspec.json.Decoder(list[Union[(Event, Label, *_OTHERS)]])  # type: ignore[valid-type]  # made above
_LOOSE: Final = msgspec.json.Decoder(list[Loose])
_ONE: Final = msgspec.json.Decoder(Loose)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def entries_of(text: bytes | memoryview) -> tuple[Sequence[Entry], int]:
    """The entries of a list, strictly or with lenient types; and how many were lost, having no usable times.

    Raises:
        msgspec.DecodeError: the text itself is not well formed (or another of NOT_DECODED).
    """
    try:
        return _STRICT.decode(text), 0
    except msgspec.ValidationError:
        return tightened(_LOOSE.decode(text))


def one_of(text: bytes) -> Loose:
    """A single entry, its types as they are.

    Raises:
        msgspec.DecodeError: it is not well formed (or another of NOT_DECODED).
    """
    return _ONE.decode(text)


def tightened(loose: Sequence[Loose]) -> tuple[Sequence[Entry], int]:
    """Entries of lenient types as records; those without usable times are left out, and counted."""
    entries: list[Entry] = []
    lost = 0
    for one in loose:
        try:
            entries.append(_tight(one))
        except (ValueError, TypeError, OverflowError, msgspec.ValidationError):
            lost += 1
    return entries, lost


def _tight(one: Loose) -> Entry:
    name = one.name if isinstance(one.name, str) else str(one.name)
    pid, tid = (x if isinstance(x, int | str) else str(x) for x in (one.pid, one.tid))
    ts, dur = (None if x is None else float(x) for x in (one.ts, one.dur))
    if one.ph == "X":
        return Event(one.cat if isinstance(one.cat, str) else "", name, pid, tid, ts, dur, _arguments(one.args, Arguments))
    if one.ph == "M":
        return Label(name, pid, tid, _arguments(one.args, LabelArguments))
    return _OTHERS[0]()


def _arguments(text: msgspec.Raw, kind: type[_Arguments]) -> _Arguments:
    """The arguments that have the types they should have; the others count as missing."""
    try:
        return msgspec.json.decode(text, type=kind)
    except NOT_DECODED:
        pass
    try:
        given = _FIELDS.decode(text)
    except NOT_DECODED:
        return kind()
    good = {}
    for known in msgspec.structs.fields(kind):
        if known.encode_name in given:
            try:
                good[known.name] = msgspec.json.decode(given[known.encode_name], type=known.type)
            except NOT_DECODED:
                continue
    return kind(**good)
