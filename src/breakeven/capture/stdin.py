"""Standard input that every pass can read from its beginning: what one pass took from a pipe is kept for the next.

Input is fetched on demand only, so that an endless pipe does no harm. A terminal is handed to the first pass as it is.
"""

from __future__ import annotations

import os
import select
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 16
_LOOK_S: Final = 0.1


@dataclass
class Stdin:
    """Our standard input, shared by several children one after another."""

    spool: Path
    source: int | None  # file descriptor; None: nothing to read
    terminal: bool
    ended: bool = False
    passes: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def open(self) -> int | None:
        """What the next child gets as its standard input: a descriptor to close after it has started, or None to inherit."""
        self.passes += 1
        if self.terminal and self.passes == 1:
            return None
        if self.source is None or self.terminal:
            return os.open(os.devnull, os.O_RDONLY)
        read_end, write_end = os.pipe()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._feed, args=(write_end, self._stop), daemon=True)
        self._thread.start()
        return read_end

    def close(self) -> None:
        """The child has ended: stop feeding it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
            self._thread = None

    def _feed(self, write_end: int, stop: threading.Event) -> None:
        try:
            with self.spool.open("a+b") as spool:
                spool.seek(0)
                while chunk := spool.read(_CHUNK):
                    _write_all(write_end, chunk, stop)
                while not (self.ended or stop.is_set()):
                    if not self._ready():
                        continue
                    chunk = os.read(self.source or 0, _CHUNK)
                    self.ended = not chunk
                    spool.write(chunk)
                    spool.flush()
                    _write_all(write_end, chunk, stop)
        except BrokenPipeError:  # the child has closed its input, or ended
            return
        finally:
            os.close(write_end)

    def _ready(self) -> bool:
        return self.source is not None and bool(select.select([self.source], [], [], _LOOK_S)[0])


def take(folder: Path) -> Stdin:
    """Take charge of this process's standard input; `folder` keeps what was read."""
    spool = folder / "stdin"
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # closed
        return Stdin(spool, None, False)
    if os.isatty(0):
        return Stdin(spool, 0, True)
    if stat.S_ISCHR(mode):  # /dev/null and its like
        return Stdin(spool, None, False)
    return Stdin(spool, 0, False)


def _write_all(handle: int, data: bytes, stop: threading.Event) -> None:
    view = memoryview(data)
    while view and not stop.is_set():
        if select.select([], [handle], [], _LOOK_S)[1]:
            view = view[os.write(handle, view[: select.PIPE_BUF]) :]
