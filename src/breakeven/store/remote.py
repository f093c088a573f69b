"""A folder behind an fsspec URL (S3, GS, memory). An object appears whole when its upload ends; one writer by a lease."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import msgspec

from breakeven.errors import InputError, MissingExtra
from breakeven.foreign import attempt

T = TypeVar("T")
_LEASE: Final = ".writer.json"
#: A writer renews its lease after so many seconds, and one that is older than `_STALE_S` is that of a writer that is gone: an
#: object store has no locks, so a lease must outlast the pauses of a busy machine.
_RENEW_S: Final = 20.0
_STALE_S: Final = 120.0
#: What a file system raises where there is nothing of that name, or something of another kind.
_GONE: Final = (FileNotFoundError, NotADirectoryError, IsADirectoryError)


class _Lease(msgspec.Struct, frozen=True):
    """Who writes."""

    token: str
    host: str
    pid: int
    at: float


@dataclass
class Remote:
    """A folder behind a URL.

    Attributes:
        name: the URL.
        system: the fsspec file system (Any: fsspec carries no types).
        root: the folder's path in it.
    """

    name: str
    system: Any
    root: str
    _token: str | None = None
    _renewed: float = field(default=0.0)

    @classmethod
    def at(cls, url: str) -> Remote:
        """The folder that a URL names.

        Raises:
            MissingExtra: fsspec, or the package that this kind of URL needs, is not installed.
            InputError: the URL is not understood.
        """
        try:
            import fsspec  # type: ignore[import-untyped,unused-ignore]  # no types, or not installed
        except ImportError as error:
            raise MissingExtra(f"{url}: a URL needs fsspec: pip install fsspec") from error
        try:
            system, root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise MissingExtra(f"{url}: {error}") from error
        except ValueError as error:
            raise InputError(f"{url}: {error}") from error
        return cls(url.rstrip("/"), system, str(root).rstrip("/"))

    def read(self, name: str) -> bytes | None:
        """The object's content; None: there is none."""
        return self._ask("read", lambda: self._content(name), None)

    def _content(self, name: str) -> bytes | None:
        return bytes(self.system.cat_file(f"{self.root}/{name}"))

    def write(self, name: str, content: bytes) -> None:
        """Uploads an object, while the lease is ours.

        Raises:
            InputError: it cannot be written, or another writer has taken over.
        """
        self._renew()
        self._put(name, content)

    def names(self, below: str = "") -> tuple[str, ...]:
        """Names of the objects in a folder, sorted."""
        folder = f"{self.root}/{below}".rstrip("/")
        found: Sequence[Any] = self._ask("list", lambda: self.system.ls(folder, detail=True, refresh=True), ())
        names = [str(e["name"]).rstrip("/").rsplit("/", 1)[-1] for e in found if e["type"] == "file"]
        return tuple(sorted(n for n in names if not n.startswith(".")))

    def make(self, files: dict[str, bytes]) -> None:
        """Writes the files; `run.json` is given last, so that whoever finds it finds the others."""
        for name, content in files.items():
            self._put(name, content)

    def check(self) -> None:
        """An object store says whether it can be written when it is written."""

    def taken(self) -> bool:
        """Whether something is there already."""
        if self._ask("list", lambda: self.system.ls(self.root, detail=False, refresh=True), ()):
            return True
        return bool(self._ask("list", lambda: self.system.isfile(self.root), False))

    def folders(self) -> Iterator[str]:
        """URLs of the folders right below, sorted."""
        found: Sequence[Any] = self._ask("list", lambda: self.system.ls(self.root, detail=True, refresh=True), ())
        for name in sorted(str(e["name"]).rstrip("/") for e in found if e["type"] == "directory"):
            last = name.rsplit("/", 1)[-1]
            if not last.startswith("."):
                yield f"{self.name}/{last}"

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the folder for one writer by a lease that is renewed with each write.

        Raises:
            InputError: another writer's lease is fresh.
        """
        other = self._lease()
        if other is not None and time.time() - other.at < _STALE_S and not _is_gone(other):
            raise InputError(
                f"{self.name} is being written by process {other.pid} on {other.host}; wait for it, or choose another folder"
            )
        self._token = secrets.token_hex(8)
        self._put(_LEASE, self._own())
        try:
            yield
        finally:
            mine = self._lease()
            if mine is not None and mine.token == self._token:
                self._ask("write", lambda: self.system.rm_file(f"{self.root}/{_LEASE}"), None)
            self._token = None

    def _own(self) -> bytes:
        self._renewed = time.time()
        return msgspec.json.encode(_Lease(self._token or "", socket.gethostname(), os.getpid(), self._renewed))

    def _lease(self) -> _Lease | None:
        content = self.read(_LEASE)
        try:
            return None if content is None else msgspec.json.decode(content, type=_Lease)
        except msgspec.DecodeError:
            return None

    def _renew(self) -> None:
        """Renews the lease now and then, and sees then whether it is still ours."""
        if self._token is None or time.time() - self._renewed < _RENEW_S:
            return
        held = self._lease()
        if held is not None and held.token != self._token:
            raise InputError(f"{self.name}: process {held.pid} on {held.host} has taken this run over; this one stops")
        self._put(_LEASE, self._own())

    def _put(self, name: str, content: bytes) -> None:
        path = f"{self.root}/{name}"

        def put() -> None:
            self.system.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            self.system.pipe_file(path, content)

        failed = attempt(put).error
        if failed is not None:
            raise self._said("write", failed) from failed

    def _ask(self, doing: str, call: Callable[[], T], gone: T) -> T:
        """What the file system answers; `gone` where there is nothing of that name."""
        got = attempt(call)
        if isinstance(got.error, _GONE):
            return gone
        if got.error is not None:
            raise self._said(doing, got.error) from got.error
        return cast(T, got.value)

    def _said(self, doing: str, error: Exception) -> InputError:
        """One line for whatever a file system raises: each kind has errors of its own."""
        said = " ".join(str(error).split())[:160] or type(error).__name__
        return InputError(f"cannot {doing} {self.name}: {said}")


def _is_gone(lease: _Lease) -> bool:
    """Whether the writer was a process of this machine that has ended."""
    if lease.host != socket.gethostname():
        return False
    try:
        os.kill(lease.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
