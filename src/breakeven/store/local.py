"""A folder of this machine: files are written without a name, synced, named and renamed; one writer by a lock of the system."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from breakeven import atomic
from breakeven.errors import InputError

_LOCK: Final = ".writer"
_KEPT: Final = "the disk is full; what was finished is kept: make room and go on with --resume"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BARRED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
#: What a file system says that cannot lock; then the lock is left out (some network and notebook drives).
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@dataclass(frozen=True)
class Local:
    """A folder of this machine.

    Attributes:
        name: the path, or a `file://` URL of it.
    """

    name: str

    @property
    def folder(self) -> Path:
        """The path."""
        return Path(self.name.removeprefix("file://")).expanduser()

    def read(self, name: str) -> bytes | None:
        """The file's content; None: there is none."""
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        except OSError as error:
            raise InputError(f"{self.name}: cannot read {name}: {(error.strerror or str(error)).lower()}") from error

    def write(self, name: str, content: bytes) -> None:
        """Writes or replaces a file.

        Raises:
            InputError: the disk is full, or the folder cannot be written.
        """
        target = self.folder / name
        try:
            if target.parent != self.folder:
                target.parent.mkdir(exist_ok=True)
            atomic.write(target, content)
        except OSError as error:
            self._say(error)

    def names(self, below: str = "") -> tuple[str, ...]:
        """Names of the finished files in a folder, sorted."""
        try:
            with os.scandir(self.folder / below) as entries:
                return tuple(sorted(e.name for e in entries if not e.name.startswith(".") and e.is_file()))
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise InputError(f"{self.name}: cannot be listed: {(error.strerror or str(error)).lower()}") from error

    def make(self, files: dict[str, bytes]) -> None:
        """Makes the folder under a temporary name and renames it.

        Raises:
            InputError: it cannot be made, or something is there already.
        """
        target = self.folder
        new = target.absolute().parent / f".{target.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}{atomic.UNFINISHED}"
        try:
            target.absolute().parent.mkdir(parents=True, exist_ok=True)
            _sweep_folders(target)
            try:
                new.mkdir()
                for name, content in files.items():
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    atomic.write(new / name, content)
                os.rename(new, target)
            finally:
                shutil.rmtree(new, ignore_errors=True)  # it has the target's name by now
            atomic.sync_folder(target.absolute().parent)
        except OSError as error:
            self._say(error, full="the disk is full; make room, or choose another place")

    def check(self) -> None:
        """Makes sure that the folder could be made.

        Raises:
            InputError: it could not.
        """
        parent = self.folder.absolute().parent
        while not parent.exists():
            parent = parent.parent
        if not parent.is_dir():
            self._say(NotADirectoryError(errno.ENOTDIR, f"{parent} is not a directory"))
        if not os.access(parent, os.W_OK):
            self._say(PermissionError(errno.EACCES, "read-only"))

    def taken(self) -> bool:
        """Whether something is there already: a file, or a folder that is not empty."""
        try:
            return self.folder.is_file() or (self.folder.is_dir() and any(self.folder.iterdir()))
        except OSError as error:
            raise InputError(f"{self.name}: cannot be read: {(error.strerror or str(error)).lower()}") from error

    def folders(self) -> Iterator[str]:
        """Paths of the folders right below, sorted."""
        try:
            with os.scandir(self.folder) as entries:
                found = sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())
        except OSError:
            return
        for name in found:
            yield str(self.folder / name)

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Holds the folder for one writer; what an ended one left unfinished is removed.

        Raises:
            InputError: another writer holds it, or the folder cannot be written.
        """
        try:
            handle = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self._say(error)
        try:
            self._lock(handle)
            _sweep(self.folder)
            yield
        finally:
            os.close(handle)

    def _lock(self, handle: int) -> None:
        try:
            import fcntl
        except ImportError:  # Windows: the files are whole all the same
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                self._say(error)
            raise InputError(
                f"{self.name} is being written by another breakeven process; wait for it, or choose another folder"
            ) from error

    def _say(self, error: OSError, full: str = _KEPT) -> NoReturn:
        """One line for what the system says."""
        if error.errno in _FULL:
            told = full
        elif error.errno in _BARRED:
            told = "the folder is read-only; choose another place"
        elif error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            told = "something is there already; choose another name"
        else:
            told = f"{(error.strerror or str(error)).lower()}; choose another place"
        raise InputError(f"cannot write {self.name}: {told}") from error


def _sweep_folders(target: Path) -> None:
    """Removes what killed processes began to make under this name; what a living one makes is left alone."""
    for left in target.absolute().parent.glob(f".{_literal(target.name[:100])}.*.*{atomic.UNFINISHED}"):
        pid = left.name.rsplit(".", 3)[1]
        if pid.isdecimal() and not _lives(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _literal(name: str) -> str:
    """The name with what a pattern would take for its own made plain."""
    return re.sub(r"([*?\[])", r"[\1]", name)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sweep(folder: Path) -> None:
    """Removes what writers that were killed left unfinished; the lock is held, so none of it is another's."""
    for where in (folder, *(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))):
        for file in where.glob(f".*{atomic.UNFINISHED}"):
            with suppress(OSError):
                file.unlink()
