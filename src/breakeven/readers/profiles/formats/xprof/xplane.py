"""XLA's profiles as XPlane protocol buffers (`.xplane.pb` of JAX and TensorFlow).

Source of the field numbers: tsl/profiler/protobuf/xplane.proto. What it leaves out: statistics that no table here holds.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from breakeven.errors import InputError
from breakeven.readers.profiles.files import Source
from breakeven.readers.profiles.formats.xprof.lines import Line, trace_of
from breakeven.readers.profiles.protobuf import WireError, fields, signed, varint
from breakeven.readers.profiles.trace import Reading

#: Bytes of a file that are held in memory at once.
_MOST: Final = 4 << 30
_MOST_NAME: Final = 4096

#: Numbers that are kept of an event, and the size from which one is no number that a profiler wrote.
_NUMBERS: Final = 7
_TOO_LARGE: Final = 1 << 62

_CORRELATION, _STEP, _HLO = "correlation_id", "step_num", "hlo_op"
_BYTES: Final = ("bytes_transferred", "memcpy_size", "bytes")


def matches(head: bytes) -> bool:
    """Whether a file that begins so may be one: a first plane, whose own first fields are known ones."""
    if head[:1] != b"\x0a":
        return False
    try:
        _, at = varint(memoryview(head), 1)
    except WireError:
        return False
    return at < len(head) and head[at] in (0x08, 0x12, 0x1A, 0x22, 0x2A, 0x32)


def read(source: Source) -> Reading:
    """The trace of one host.

    Raises:
        InputError: the bytes are no XPlane.
        NoAnswer: it holds no event.
    """
    data = memoryview(b"".join(_bounded(source)))
    lines: list[Line] = []
    lost = 0
    try:
        for number, plane in fields(data):
            if number == 1 and isinstance(plane, memoryview):
                found, broken = _plane(plane)
                lines += found
                lost += broken
    except WireError as error:
        if not lines:
            raise InputError(f"{source.name} is no XPlane: {error}") from error
        lost += 1
    if not lines:
        raise InputError(f"{source.name} is no XPlane of a profile: no plane in it")
    trace, said = trace_of(lines, sum(len(line.names) for line in lines), source.name)
    return (trace,), (*((f"{lost} parts of {source.name} could not be read and were left out",) if lost else ()), *said)


def _bounded(source: Source) -> Iterator[bytes]:
    total = 0
    for block in source.blocks():
        total += len(block)
        if total > _MOST:
            raise InputError(f"{source.name} is larger than {_MOST >> 30} GB; it cannot be read as one")
        yield block


@dataclass
class _Names:
    """Names of a plane's events and statistics by their ids."""

    events: dict[int, str] = field(default_factory=dict)
    statistics: dict[int, str] = field(default_factory=dict)


def _plane(data: memoryview) -> tuple[list[Line], int]:
    """Lines of one plane, and how many could not be read."""
    title, raw_lines, names = "", [], _Names()
    for number, value in fields(data):
        if not isinstance(value, memoryview):
            continue
        if number == 2:
            title = _text(value)
        elif number == 3:
            raw_lines.append(value)
        elif number in (4, 5):
            key, name = _named(value)
            (names.events if number == 4 else names.statistics)[key] = name
    lines, lost = [], 0
    for raw in raw_lines:
        try:
            lines.append(_line(raw, title, names))
        except WireError:
            lost += 1
    return lines, lost


def _text(value: memoryview) -> str:
    return bytes(value[:_MOST_NAME]).decode("utf-8", "replace")


def _named(entry: memoryview) -> tuple[int, str]:
    """An entry of a map from ids to metadata: its id, and its display name or name."""
    key, name, shown = 0, "", ""
    for number, value in fields(entry):
        if number == 1 and isinstance(value, int):
            key = value
        elif number == 2 and isinstance(value, memoryview):
            for inner, text in fields(value):
                if inner == 2 and isinstance(text, memoryview):
                    name = _text(text)
                elif inner == 4 and isinstance(text, memoryview):
                    shown = _text(text)
    return key, shown or name


def _line(data: memoryview, plane: str, names: _Names) -> Line:
    wanted = {key: name for key, name in names.statistics.items() if name in (_CORRELATION, _STEP, _HLO, *_BYTES)}
    title = display = ""
    begin_ns, numbers = 0, array("q")
    for number, value in fields(data):
        if number == 4 and isinstance(value, memoryview):
            numbers.extend(_event(value, wanted))
        elif number == 2 and isinstance(value, memoryview):
            title = _text(value)
        elif number == 11 and isinstance(value, memoryview):
            display = _text(value)
        elif number == 3 and isinstance(value, int):
            begin_ns = signed(value)
    columns = np.array(numbers, dtype=np.int64).reshape(-1, _NUMBERS)
    return Line(
        plane, display or title, [names.events.get(i, "") for i in columns[:, 0].tolist()],
        begin_ns + columns[:, 1] / 1000.0, columns[:, 2] / 1000.0, columns[:, 3], columns[:, 4], columns[:, 5] > 0, columns[:, 6],
    )  # fmt: skip


def _event(data: memoryview, wanted: dict[int, str]) -> list[int]:
    """Metadata id, offset and length in picoseconds, correlation id, step, whether it is an XLA operation, bytes."""
    metadata = offset = duration = hlo = 0
    correlation = step = size = -1
    for number, value in fields(data):
        if number == 4:
            if wanted and isinstance(value, memoryview):
                name, found = _statistic(value, wanted)
                if name == _CORRELATION:
                    correlation = found
                elif name == _STEP:
                    step = found
                elif name == _HLO:
                    hlo = 1
                elif name:
                    size = found
        elif isinstance(value, int):
            if number == 1:
                metadata = value
            elif number == 2:
                offset = signed(value)
            elif number == 3:
                duration = signed(value)
    return [v if abs(v) < _TOO_LARGE else -1 for v in (metadata, offset, duration, correlation, step, hlo, size)]


def _statistic(data: memoryview, wanted: dict[int, str]) -> tuple[str, int]:
    """Name and whole value of a statistic that is wanted; an empty name: it is not."""
    name, found = "", -1
    for number, value in fields(data):
        if number == 1 and isinstance(value, int):
            name = wanted.get(value, "")
            if not name:
                return "", -1
        elif number in (3, 4) and isinstance(value, int):
            found = signed(value)
        elif number == 5 and isinstance(value, memoryview):
            digits = bytes(value[:20])
            found = int(digits) if digits.isdigit() else -1
    return name, found
