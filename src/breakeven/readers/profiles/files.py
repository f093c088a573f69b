"""Files as bounded streams of bytes: plain, gzip, archives and folders, told apart by what they hold and not by their names.

A trace is hostile input: sizes that a header claims are not believed, nothing is unpacked to disk, and what expands without end
is cut off with a clear error.
"""

from __future__ import annotations

import io
import queue
import stat
import tarfile
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from breakeven.errors import InputError

#: Bytes that are read, and decoded, at a time.
BLOCK: Final = 1 << 20

#: Blocks that are unpacked before they are asked for.
_BLOCKS_AHEAD: Final = 4

#: A stream that unpacks to more than this is refused: real traces are at most some 10 GB of text.
MOST_UNPACKED: Final = 64 << 30

#: Members of an archive or files of a folder that are looked at: a rank each.
MOST_FILES: Final = 4096

#: A stream that has grown to this, and to so many times its packed size, holds nothing but repetition: public traces shrink
#: 9 to 34 times, and gzip ends at 1032 times.
_SUSPICIOUS: Final = 128 << 20
_MOST_RATIO: Final = 400

_GZIP: Final = b"\x1f\x8b"
_TAR_MAGIC_AT: Final = 257

#: Takes bytes read so far of the file's size; shown as progress.
OnBytes = Callable[[int, int], None]


@dataclass(frozen=True)
class Source:
    """One trace to be read: a file, or a member of an archive.

    Attributes:
        name: for messages.
        blocks: makes its unpacked bytes anew, block by block.
        path: where it lies as it is; None: inside an archive or compressed.
    """

    name: str
    blocks: Callable[[], Iterator[bytes]]
    path: Path | None = None

    def head(self, count: int = 4096) -> bytes:
        """Its first bytes."""
        found = b""
        for block in self.blocks():
            found += block
            if len(found) >= count:
                break
        return found[:count]


def sources(path: Path, on_bytes: OnBytes = lambda done, size: None) -> Iterator[Source]:
    """The traces at a path, one after the other: the file itself, the files of a folder, the members of an archive.

    Raises:
        InputError: there is nothing that can be read.
    """
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        files = sorted(p for p in _listing(path) if stat.S_ISREG(_mode(p)) and not p.name.startswith("."))
        if not files:
            raise InputError(f"{path.name}: the folder holds no file; name a folder of traces, one per rank")
        for file in files[:MOST_FILES]:
            yield from sources(file, on_bytes)
        return
    if not stat.S_ISREG(mode):
        raise InputError(f"{path.name} is no regular file (a pipe or a device); name a trace")
    size = path.stat().st_size
    if size == 0:
        raise InputError(f"{path.name} is empty")
    one = _source(path, size, on_bytes)
    if one.head(_TAR_MAGIC_AT + 5)[_TAR_MAGIC_AT:] == b"ustar":
        yield from _members(one)
    else:
        yield one


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be opened'}") from error


def _listing(path: Path) -> list[Path]:
    try:
        return list(path.iterdir())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be listed'}") from error


def _source(path: Path, size: int, on_bytes: OnBytes) -> Source:
    with _open(path) as file:
        packed = file.read(2) == _GZIP
    if packed:
        return Source(path.name, lambda: _ahead(_unpacked(_raw(path, size, on_bytes), path.name)))
    return Source(path.name, lambda: _raw(path, size, on_bytes), path)


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path.name}: {error.strerror or 'it cannot be opened'}") from error


def _raw(path: Path, size: int, on_bytes: OnBytes) -> Iterator[bytes]:
    done = 0
    with _open(path) as file:
        while block := file.read(BLOCK):
            done += len(block)
            on_bytes(done, size)
            yield block


class CutShort(InputError):
    """A compressed stream ends or breaks in the middle; what came before it has been handed out."""


def _unpacked(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The contents of a gzip stream (several members may follow each other), in blocks of bounded size.

    Raises:
        CutShort: the stream is cut off or broken.
        InputError: it unpacks to more than any trace holds.
    """
    unpack, total, taken, begun = zlib.decompressobj(wbits=31), 0, 0, False
    for packed in blocks:
        taken += len(packed)
        while packed:
            begun = True
            try:
                block = unpack.decompress(packed, BLOCK)
            except zlib.error as error:
                raise CutShort(f"{name}: the compressed data are broken ({error})") from error
            total += len(block)
            if total > MOST_UNPACKED:
                raise InputError(f"{name} unpacks to more than {MOST_UNPACKED >> 30} GB; it is no trace")
            if total > _SUSPICIOUS and total > _MOST_RATIO * (taken - len(unpack.unconsumed_tail)):
                raise InputError(f"{name} unpacks to more than {_MOST_RATIO} times its size; it is no trace")
            if block:
                yield block
            packed = unpack.unconsumed_tail
            if unpack.eof:
                packed = unpack.unused_data.lstrip(b"\0")
                if packed and packed[:2] != _GZIP:
                    return  # something else after the end
                unpack, begun = zlib.decompressobj(wbits=31), False
    if begun:
        raise CutShort(f"{name}: the compressed data end in the middle")


def _ahead(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The same blocks, unpacked on another thread while the ones before are decoded: zlib gives the interpreter free."""
    ready: queue.Queue[bytes | BaseException | None] = queue.Queue(_BLOCKS_AHEAD)
    stopped = threading.Event()

    def put(item: bytes | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def work() -> None:
        try:
            for block in blocks:
                if not put(block):
                    return
            put(None)
        except (OSError, InputError) as error:  # it is the reader's, who asks for the next block
            put(error)

    worker = threading.Thread(target=work, name="unpack", daemon=True)
    worker.start()
    try:
        while (block := ready.get()) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        stopped.set()
        worker.join()


def _members(archive: Source) -> Iterator[Source]:
    """Members of a tar archive as sources; each is held in memory while it is read, at most one at a time."""
    with tarfile.open(fileobj=_Stream(archive.blocks()), mode="r|") as tar:
        try:
            for count, member in enumerate(tar):
                if count >= MOST_FILES:
                    return
                handle = tar.extractfile(member) if member.isreg() and member.size else None
                if handle is None or Path(member.name).name.startswith("."):
                    continue
                content = handle.read()
                yield _held(member.name, content)
        except (tarfile.TarError, zlib.error) as error:
            raise CutShort(f"{archive.name}: the archive is broken ({error})") from error


def _held(name: str, content: bytes) -> Source:
    """A source whose packed bytes are in memory."""

    def blocks() -> Iterator[bytes]:
        pieces = (content[at : at + BLOCK] for at in range(0, len(content), BLOCK))
        return _unpacked(pieces, name) if content[:2] == _GZIP else pieces

    return Source(name, blocks)


class _Stream(io.RawIOBase):
    """Blocks as a file that can only be read forward."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._left = blocks, b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts, have = [self._left], len(self._left)
        while size < 0 or have < size:
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            have += len(block)
        whole = b"".join(parts)
        count = have if size < 0 else size
        self._left = whole[count:]
        return whole[:count]
