"""Protocol buffers on the wire, read without a schema compiler: fields of one message as (number, value) pairs.

Bounded: every length is checked against what is there, nothing is copied but what is asked for, and no field recurses by itself.
Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

#: A varint has at most ten bytes of seven bits.
_MOST_BYTES: Final = 10


class WireError(ValueError):
    """These bytes are no message."""


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field of a message; lengths and groups of bytes come as views, all else as whole numbers.

    Raises:
        WireError: a field runs beyond the message, or has a type that does not exist.

    >>> [(n, bytes(v) if isinstance(v, memoryview) else v) for n, v in fields(memoryview(bytes([8, 150, 1, 18, 1, 65])))]
    [(1, 150), (2, b'A')]
    """
    at, size = 0, len(data)
    while at < size:
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield number, value
        elif kind == 2:
            length, at = varint(data, at)
            if length > size - at:
                raise WireError(f"field {number} claims {length} bytes, {size - at} are left")
            yield number, data[at : at + length]
            at += length
        elif kind in (1, 5):
            width = 8 if kind == 1 else 4
            if width > size - at:
                raise WireError(f"field {number} is cut off")
            yield number, int.from_bytes(data[at : at + width], "little")
            at += width
        else:
            raise WireError(f"field {number} has type {kind}, which does not exist")


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The whole number that begins at a place, and the place behind it.

    Raises:
        WireError: it does not end.
    """
    value = shift = 0
    end = min(len(data), at + _MOST_BYTES)
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise WireError("a number does not end")


def signed(value: int) -> int:
    """A 64-bit number as the signed one that it encodes."""
    return value - (1 << 64) if value >= 1 << 63 else value
