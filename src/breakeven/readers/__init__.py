"""Files of any profiler, told apart by what they hold; each reader gives `(traces, warnings)`. Formats are listed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from breakeven.errors import BreakevenError, InputError, NoAnswer
from breakeven.readers.profiles import chrome
from breakeven.readers.profiles.files import OnBytes, Source, sources
from breakeven.readers.profiles.formats import nsys
from breakeven.readers.profiles.formats.xprof import xplane
from breakeven.readers.profiles.trace import Reading, Trace

__all__ = ["FORMATS", "Format", "Reading", "Trace", "read"]


class Format(NamedTuple):
    """One kind of file.

    Attributes:
        name: what it is called.
        matches: whether a file that begins with these bytes may be one.
        read: reads it.
    """

    name: str
    matches: Callable[[bytes], bool]
    read: Callable[[Source], Reading]


#: Every format, in the order in which they are tried: those with a clear mark first.
FORMATS: Final[tuple[Format, ...]] = (
    Format("Nsight Systems export (SQLite)", nsys.matches, nsys.read),
    Format("Chrome trace in JSON (PyTorch, JAX, TensorFlow)", chrome.matches, chrome.read),
    Format("XPlane (JAX, TensorFlow)", xplane.matches, xplane.read),
)


def read(paths: Iterable[Path], on_bytes: OnBytes = lambda done, size: None) -> Reading:
    """Every trace at these paths: files, archives and folders of them.

    Args:
        paths: what to read.
        on_bytes: called with the bytes read so far and the size of the file.

    Raises:
        InputError: nothing could be read; the message says what is wrong with the first.
        NoAnswer: the files are in order and hold no event.
    """
    traces: list[Trace] = []
    warnings: list[str] = []
    failed: list[BreakevenError] = []
    for source in chain.from_iterable(sources(path, on_bytes) for path in paths):
        try:
            found, said = _one(source)
        except (InputError, NoAnswer) as error:
            failed.append(error)
            continue
        traces += found
        warnings += said
    if not traces:
        raise failed[0] if failed else InputError("no trace in it")
    return tuple(traces), (*warnings, *(f"left out: {error}" for error in failed))


def _one(source: Source) -> Reading:
    head = source.head()
    for known in FORMATS:
        if known.matches(head):
            return known.read(source)
    raise InputError(f"{source.name} is no trace of a known profiler; known are: {'; '.join(f.name for f in FORMATS)}")
