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
from breakeven.readers.profiles.event_records import NOT_DECODED, Entry, Loose, entries_of, one_of, tightened
from breakeven.readers.profiles.files import CutShort


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


def read_events(blocks: Iterator[bytes], take: Callable[[Sequence[Entry]], None], document: Document | None = None) -> Document:
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
    buffer, rest = bytearray(b"["), b""
    while (block := text.more()) is not None:
        end = 1 + len(rest) + len(block)
        if end > len(buffer):
            buffer = bytearray(end + _RUN)
        with memoryview(buffer) as view:  # the same bytes again and again: fresh ones cost more than the copy
            view[:1], view[1 : end - len(block)], view[end - len(block) : end] = b"[", rest, block
            with view[:end] as filled:
                rest = bytes(filled[_whole_events(filled, len(rest), document, take) :])
        if len(rest) > _LONG_EVENT:
            rest = _squeezed(rest)
        if len(rest) > _MOST_EVENT:
            raise InputError("an entry of the trace goes on for more than 64 MB; it cannot be read")
    tail = _last_events(rest, document, take)
    document.header = _header(head, tail, document)
    return document


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
        except NOT_DECODED:
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


def _whole_events(text: memoryview, known: int, document: Document, take: Callable[[Sequence[Entry]], None]) -> int:
    """Decode the events that are whole in a text that begins with a bracket; returns where the rest begins.

    In its first `known` bytes there is no end of an event, but for what blanks at their end may hide.
    """
    cuts = _last_cuts(text, max(0, known - _RUN))
    for cut, behind in cuts:
        kept = text[cut]
        text[cut] = _CLOSING  # in place of the comma or the blank: a list, without a copy
        decoded = _decoded(text[: cut + 1], document, take)
        text[cut] = kept
        if decoded:
            return behind
    if not cuts:
        return 1
    _one_by_one(bytes(text[1 : cuts[0][0]]), document, take)
    return cuts[0][1]


def _last_cuts(text: bytes | memoryview, first: int = 0) -> list[tuple[int, int]]:
    """Ends of events near the end of the text, and where the next ones begin; the last first, none before `first`."""
    window = _WINDOW
    while True:
        low = max(first, len(text) - window)
        found = [(low + m.start() + 1, low + m.end()) for m in _BETWEEN.finditer(bytes(text[low:]))]
        if found or low == first:
            return found[: -_TRIES - 1 : -1]
        window *= 16


def _decoded(text: bytes | memoryview, document: Document, take: Callable[[Sequence[Entry]], None]) -> bool:
    """Decode a list of events, strictly or with lenient types; False: the text itself is not well formed."""
    try:
        entries, lost = entries_of(text)
    except NOT_DECODED:
        return False
    document.entries += len(entries) + lost
    document.lost += lost
    take(entries)
    if document.on_text is not None:
        document.on_text(text)
    return True


def _one_by_one(text: bytes, document: Document, take: Callable[[Sequence[Entry]], None]) -> None:
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
                good.append(one_of(piece))
            except NOT_DECODED:
                pruned = _pruned(piece)
                if pruned is None:
                    document.entries += 1
                    document.lost += 1
                else:
                    good.append(pruned)
    entries, lost = tightened(good)
    document.entries += len(good)
    document.lost += lost
    take(entries)


def _pruned(piece: bytes) -> Loose | None:
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
        return one_of(b"".join([*kept, piece[at:]]))
    except NOT_DECODED:
        return None


def _last_events(rest: bytes, document: Document, take: Callable[[Sequence[Entry]], None]) -> bytes:
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
    closing = _END.search(rest, cuts[0][0] if cuts else 0)
    _one_by_one(rest[: closing.end() - 1] if closing else rest, document, take)
    return b""


def _header(head: bytes, tail: bytes, document: Document) -> dict[str, Any]:
    """The object around the events."""
    if not head:
        return {}
    for text in (head + b"]" + tail, head + b"]}"):
        try:
            found = msgspec.json.decode(_NOT_FINITE.sub(b"null", text.decode("utf-8", "replace").encode()))
        except NOT_DECODED:
            continue
        return found if isinstance(found, dict) else {}
    return {}
