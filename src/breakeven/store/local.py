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

from breakeven.errors import InputError

#: Files that are being written end in this and begin with a dot; readers pass them over, the next writer removes them.
_UNFINISHED: Final = ".part"
_LOCK: Final = ".writer"
_KEPT: Final = "the disk is full; what was finished is kept: make room and go on with --resume"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BARRED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
#: What a file system says that has no files without a name.
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.EXDEV, errno.ENOENT, errno.EPERM)
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
            _write_whole(target, content)
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
        new = target.absolute().parent / f".{target.name[:100]}.{os.getpid()}.{secrets.token_hex(4)}{_UNFINISHED}"
        try:
            target.absolute().parent.mkdir(parents=True, exist_ok=True)
            _sweep_folders(target)
            try:
                new.mkdir()
                for name, content in files.items():
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    _write_whole(new / name, content)
                os.rename(new, target)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
            _sync_folder(target.absolute().parent)
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


def _write_whole(target: Path, content: bytes) -> None:
    """Writes to a file that has no name yet, syncs it, names it and renames it; where files need a name, to a temporary one."""
    new = target.parent / f".{target.name[:100]}.{secrets.token_hex(4)}{_UNFINISHED}"
    try:
        if not _without_name(new, content):
            _fill(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), content)
        os.replace(new, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
    _sync_folder(target.parent)


def _without_name(new: Path, content: bytes) -> bool:
    """Makes the file so that it appears whole: a process killed meanwhile leaves nothing. False: not on this file system."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return False
    folder = os.open(new.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        handle = os.open(new.parent, flag | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        kept = os.dup(handle)
        try:
            _fill(handle, content)
            # With a folder's descriptor Python calls linkat, which alone can follow the link.
            os.link(f"/proc/self/fd/{kept}", new.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(kept)
    except OSError as error:
        if error.errno in _NO_UNNAMED:
            return False
        raise
    finally:
        os.close(folder)
    return True


def _fill(handle: int, content: bytes) -> None:
    """Writes and syncs all of it, and closes the file."""
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Makes a rename last through a loss of power; a system that cannot do so is left as it is."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _sweep_folders(target: Path) -> None:
    """Removes what killed processes began to make under this name; what a living one makes is left alone."""
    for left in target.absolute().parent.glob(f".{_literal(target.name[:100])}.*.*{_UNFINISHED}"):
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
        for file in where.glob(f".*{_UNFINISHED}"):
            with suppress(OSError):
                file.unlink()
