"""Chrome traces in JSON: whose they are is seen from the events, then PyTorch's or XLA's reading of them applies."""

from __future__ import annotations

import re
from typing import Final

from breakeven.errors import InputError, NoAnswer
from breakeven.readers.profiles.files import Source
from breakeven.readers.profiles.formats import kineto
from breakeven.readers.profiles.formats.xprof import json_lines
from breakeven.readers.profiles.json_events import read_events
from breakeven.readers.profiles.raw_columns import RawCollector
from breakeven.readers.profiles.trace import Reading

_JSON: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:$|\{\s*["}]|\{\s*$|\[\s*(?:$|[{\]"0-9n]))')


def matches(head: bytes) -> bool:
    """Whether a file that begins so may be JSON: an object or a list, after a byte order mark and blanks."""
    return bool(_JSON.match(head))


def read(source: Source) -> Reading:
    """The trace of one rank.

    Raises:
        InputError: it is no trace.
        NoAnswer: it holds no event with a length.
    """
    collector = RawCollector(kineto.WITH_ARGUMENTS)
    try:
        document = read_events(source.blocks(), collector.take)
    except InputError as error:
        raise InputError(f"{source.name}: {error}") from error
    raw = collector.columns()
    lost = [f"{document.lost} of {document.entries} entries could not be read and were left out"] if document.lost else []
    warnings = [*document.warnings, *lost]
    if not len(raw.ts):
        raise NoAnswer(f"{source.name} holds no event with a length: nothing to account for")
    reading = json_lines if json_lines.is_xla(raw) else kineto
    trace, said = reading.trace_from(raw, document.header, document.entries, source.name)
    return (trace,), (*warnings, *said)
