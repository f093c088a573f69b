"""Events of a Chrome trace in JSON, decoded block by block: memory follows the block, not the file.

Works on any layout: an object with `traceEvents`, or a bare list. What cannot be decoded is skipped and counted; nothing of a
trace is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from breakeven.errors import InputError
from breakeven.readers.profiles.files import CutShort

#: A value that profilers write as a number, and some as text.
Number = int | float | str | None


class Arguments(msgspec.Struct, gc=False):
    """Arguments of an event that anything here makes use of; all others are passed over. Numbers that are missing are -1."""

    correlation: Number = -1
    device: Number = -1
    stream: Number = -1
    bytes: Number = -1
    grid: list[int] | None = None
    block: list[int] | None = None
    occupancy: Number = msgspec.field(default=None, name="est. achieved occupancy %")
    step_num: Number = -1
    name: str | None = None
    hlo_op: str | None = None
    hlo_module: str | None = None


class _Id(msgspec.Struct, gc=False):
    """What a call of the runtime is asked for."""

    correlation: Number = -1


class Event(msgspec.Struct, gc=False):
    """One entry of `traceEvents`; times in microseconds, arguments as text: few events' are ever looked at."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: float | None = None
    dur: float | None = None
    args: msgspec.Raw = msgspec.Raw()


class _Loose(msgspec.Struct, gc=False):
    """The same where types are not as they should be (Any: whatever the file holds)."""

    ph: Any = ""
    cat: Any = ""
    name: Any = ""
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: msgspec.Raw = msgspec.Raw()


@dataclass
class Document:
    """What was read beside the events.

    Attributes:
        header: the object around `traceEvents` without it; empty for a bare list.
        entries: entries of the file.
        lost: entries that could not be decoded.
        warnings: what was wrong with the text as a whole.
        on_text: takes the text of each batch that could be decoded.
    """

    header: dict[str, Any] = field(default_factory=dict)
    entries: int = 0
    lost: int = 0
    warnings: list[str] = field(default_factory=list)
    on_text: Callable[[bytes | memoryview], None] | None = None


_One = TypeVar("_One")

_STRICT: Final = msgspec.json.Decoder(list[Event])
_LOOSE: Final = msgspec.json.Decoder(list[_Loose])
_ONE: Final = msgspec.json.Decoder(_Loose)
_ARGUMENTS: Final = msgspec.json.Decoder(Arguments)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ONE_ID: Final = msgspec.json.Decoder(_Id)

#: Between two events. The keys that an event may begin with keep it from matching in most nested objects; a wrong place is
#: found out, since neither side of it decodes.
_BETWEEN: Final = re.compile(rb'\}\s*,\s*(?=\{\s*(?:"(?:ph|name|cat|ts|pid|tid|args|dur)"|\}))')
_BEGIN: Final = re.compile(rb'"traceEvents"\s*:\s*\[')
_END: Final = re.compile(rb"(?:\}|\[)\s*\]")
_NOT_FINITE: Final = re.compile(rb"(?<=[:,\[\s])[-+]?(?:NaN|Infinity|nan|inf)\b")
_BLANKS: Final = re.compile(rb"[ \t\r\n]{64,}")
_BRACKETS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]')

_RUN: Final = 4096
_CLOSING: Final = ord("]")
#: An entry longer than this is looked at for blanks that can go.
_LONG_EVENT: Final = 1 << 20
_WINDOW: Final = 1 << 12
_MOST_HEADER: Final = 64 << 20
_MOST_EVENT: Final = 64 << 20
_TRIES: Final = 4
_DEEPEST: Final = 16


def read_events(blocks: Iterator[bytes], take: Callable[[list[Event]], None], document: Document | None = None) -> Document:
    """Hand every event of a Chrome trace to `take`, batch by batch.

    Args:
        blocks: the text.
        take: takes the decoded events of a batch; it must not keep them.
        document: what is filled in and returned; a new one by default.

    Raises:
        InputError: the text is no Chrome trace.
    """
    document = Document() if document is None else document
    text = _Text(blocks, document)
    head = _head(text)
    rest = b""
    while (block := text.more()) is not None:
        buffer = bytearray().join((b"[", rest, block))
        rest = bytes(memoryview(buffer)[_whole_events(buffer, len(rest), document, take) :])
        if len(rest) > _LONG_EVENT:
            rest = _squeezed(rest)
        if len(rest) > _MOST_EVENT:
            raise InputError("an entry of the trace goes on for more than 64 MB; it cannot be read")
    tail = _last_events(rest, document, take)
    document.header = _header(head, tail, document)
    return document


def arguments_of(events: Sequence[Event]) -> list[Arguments]:
    """The arguments of some events; where one of them has a type that it should not have, it counts as missing."""
    try:
        return list(map(_ARGUMENTS.decode, [e.args for e in events]))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return [_arguments(e.args) for e in events]


def correlations_of(events: Sequence[Event]) -> list[Number]:
    """The correlation ids of some events; -1: none."""
    try:
        return [one.correlation for one in map(_ONE_ID.decode, [e.args for e in events])]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return [_arguments(e.args).correlation for e in events]


def _arguments(text: msgspec.Raw) -> Arguments:
    """The arguments that have the types they should have."""
    try:
        return _ARGUMENTS.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    good = {}
    try:
        given = _FIELDS.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return Arguments()
    known = {f.encode_name: f for f in msgspec.structs.fields(Arguments)}
    for key, value in given.items():
        if key in known:
            try:
                good[key] = msgspec.json.decode(value, type=known[key].type)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue
    return msgspec.convert(good, Arguments)


def stream_of(blocks: Iterator[bytes], kind: type[_One], take: Callable[[list[_One]], None]) -> None:
    """Hand every event to `take` as another type with more of its arguments; batches that do not fit it are passed over.

    Args:
        blocks: the text of a trace that `read_events` has read.
        kind: a struct, all of whose fields have defaults.
        take: takes the events of a batch.

    Raises:
        InputError: the text is no Chrome trace.
    """
    decoder = msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]  # a type that is given

    def again(piece: bytes | memoryview) -> None:
        try:
            take(decoder.decode(piece))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return

    document = Document()
    document.on_text = again
    read_events(blocks, lambda events: None, document)


class _Text:
    """Blocks of text; a stream that breaks off ends there, with a warning."""

    def __init__(self, blocks: Iterator[bytes], document: Document) -> None:
        self._blocks, self._document = blocks, document
        self.left = b""

    def more(self) -> bytes | None:
        """The next bytes; None at the end."""
        if self.left:
            left, self.left = self.left, b""
            return left
        try:
            return next(self._blocks, None)
        except CutShort as error:
            self._document.warnings.append(f"{error}; what came before was read")
            return None


def _head(text: _Text) -> bytes:
    """All that stands before the first event; the text goes on with the events."""
    seen = b""
    while (block := text.more()) is not None:
        seen = _squeezed((seen + block).removeprefix(b"\xef\xbb\xbf"))
        start = seen.lstrip()[:1]
        if start == b"[":
            text.left = seen.lstrip()[1:]
            return b""
        if start not in (b"{", b""):
            break
        if found := _BEGIN.search(seen):
            text.left = seen[found.end() :] or b" "
            return seen[: found.end()]
        if len(seen) > _MOST_HEADER:
            break
    raise InputError("no list of traceEvents in it; it is no trace of a profiler")


def _squeezed(text: bytes) -> bytes:
    """Without long runs of blanks, which would fill the memory and say nothing."""
    stripped = text.rstrip()
    if len(text) - len(stripped) > _RUN:
        text = stripped + b" "
    return _BLANKS.sub(b" ", text) if any(blank * _RUN in text for blank in (b" ", b"\n", b"\t")) else text


def _whole_events(text: bytearray, known: int, document: Document, take: Callable[[list[Event]], None]) -> int:
    """Decode the events that are whole in a text that begins with a bracket; returns where the rest begins.

    In its first `known` bytes there is no end of an event, but for what blanks at their end may hide.
    """
    cuts = _last_cuts(text, max(0, known - _RUN))
    for cut in cuts:
        behind = text[cut]
        text[cut] = _CLOSING  # in place of the comma or the blank: a list, without a copy
        if _decoded(memoryview(text)[: cut + 1], document, take):
            text[cut] = behind
            return text.index(b",", cut) + 1
        text[cut] = behind
    if not cuts:
        return 1
    _one_by_one(bytes(text[1 : cuts[0]]), document, take)
    return text.index(b",", cuts[0]) + 1


def _last_cuts(text: bytes | bytearray, first: int = 0) -> list[int]:
    """Ends of events near the end of the text, the last first; none before `first`."""
    window = _WINDOW
    while True:
        low = max(first, len(text) - window)
        found = [low + m.start() + 1 for m in _BETWEEN.finditer(text[low:])]
        if found or low == first:
            return found[: -_TRIES - 1 : -1]
        window *= 16


def _decoded(text: bytes | memoryview, document: Document, take: Callable[[list[Event]], None]) -> bool:
    """Decode a list of events, strictly or with lenient types; False: the text itself is not well formed."""
    try:
        events = _STRICT.decode(text)
        document.entries += len(events)
    except msgspec.ValidationError:
        try:
            loose = _LOOSE.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return False
        events = _tightened(loose, document)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return False
    take(events)
    if document.on_text is not None:
        document.on_text(text)
    return True


def _one_by_one(text: bytes, document: Document, take: Callable[[list[Event]], None]) -> None:
    """Decode what can be decoded of a text in which something is broken."""
    clean = _NOT_FINITE.sub(b"null", text.decode("utf-8", "replace").encode())
    if _decoded(b"[" + clean + b"]", document, take):
        return
    good = []
    at = 0
    for cut in [*(m.start() + 1 for m in _BETWEEN.finditer(clean)), len(clean)]:
        piece = clean[at:cut].strip(b" \t\r\n,")
        at = cut
        if piece:
            try:
                good.append(_ONE.decode(piece))
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                pruned = _pruned(piece)
                if pruned is None:
                    document.entries += 1
                    document.lost += 1
                else:
                    good.append(pruned)
    take(_tightened(good, document))


def _pruned(piece: bytes) -> _Loose | None:
    """An event whose arguments are nested too deeply, without what lies below; None: that was not its trouble."""
    kept, depth, at = [], 0, 0
    for bracket in _BRACKETS.finditer(piece):
        sign = bracket.group()[:1]
        if sign in b"[{":
            depth += 1
            if depth == _DEEPEST:
                kept.append(piece[at : bracket.start()] + b"null")
        elif sign in b"]}":
            depth -= 1
            if depth == _DEEPEST - 1:
                at = bracket.end()
    if depth != 0 or not kept:
        return None
    try:
        return _ONE.decode(b"".join([*kept, piece[at:]]))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _tightened(loose: list[_Loose], document: Document) -> list[Event]:
    """Events of lenient types as strict ones; those without usable times are counted as lost."""
    document.entries += len(loose)
    events = []
    for one in loose:
        try:
            events.append(_tight(one))
        except (ValueError, TypeError, OverflowError, msgspec.ValidationError):
            document.lost += 1
    return events


def _tight(one: _Loose) -> Event:
    return Event(
        ph=one.ph if isinstance(one.ph, str) else "",
        cat=one.cat if isinstance(one.cat, str) else "",
        name=one.name if isinstance(one.name, str) else str(one.name),
        pid=one.pid if isinstance(one.pid, int | str) else str(one.pid),
        tid=one.tid if isinstance(one.tid, int | str) else str(one.tid),
        ts=None if one.ts is None else float(one.ts),
        dur=None if one.dur is None else float(one.dur),
        args=one.args,
    )


def _last_events(rest: bytes, document: Document, take: Callable[[list[Event]], None]) -> bytes:
    """Decode the last events, up to the end of the list; returns what stands behind it."""
    stripped = rest.lstrip()
    if stripped[:1] == b"]":
        return stripped[1:]
    for tries, found in enumerate(_END.finditer(rest)):
        end = found.end() - 1
        if _decoded(b"[" + rest[:end] + b"]", document, take):
            return rest[end + 1 :]
        if tries > 1000:
            break
    if stripped:
        document.warnings.append("the list of events does not end; the last entries are lost")
    cuts = _last_cuts(rest)
    closing = _END.search(rest, cuts[0] if cuts else 0)
    _one_by_one(rest[: closing.end() - 1] if closing else rest, document, take)
    return b""


def _header(head: bytes, tail: bytes, document: Document) -> dict[str, Any]:
    """The object around the events."""
    if not head:
        return {}
    for text in (head + b"]" + tail, head + b"]}"):
        try:
            found = msgspec.json.decode(_NOT_FINITE.sub(b"null", text.decode("utf-8", "replace").encode()))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            continue
        return found if isinstance(found, dict) else {}
    return {}
