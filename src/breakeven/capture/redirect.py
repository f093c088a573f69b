"""Sends Python's own file calls through the overlay: `open`, `os.*`, and what PyTorch and SQLite open by name.

Installed before anything of the user's (and PyTorch) is imported, so that names taken early are the redirected ones.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

from breakeven.capture.scratch import Overlay

_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(overlay: Overlay) -> None:
    """Patch the process; there is no way back but its end."""
    changed: dict[int, tuple[Any, Any]] = {}  # by id: the ordinary function (kept alive), and ours

    def put(owner: Any, name: str, ours: Callable[..., Any]) -> None:
        if not hasattr(owner, name):
            return
        before = getattr(owner, name)
        ours.__name__, ours.__doc__ = name, before.__doc__
        ours.__wrapped__ = before  # type: ignore[attr-defined]  # as functools.wraps does
        changed[id(before)] = (before, ours)
        for group in (os.supports_follow_symlinks, os.supports_effective_ids, os.supports_fd):
            if before in group:
                group.add(ours)
        setattr(owner, name, ours)

    ours = _open(overlay, builtins.open)
    put(builtins, "open", ours)
    io.open = ours
    put(os, "open", _os_open(overlay, os.open))
    for name in ("stat", "lstat", "access", "chdir", "statvfs", "getxattr", "listxattr", "pathconf"):
        put(os, name, _reading(overlay, getattr(os, name, None)))
    for name in ("truncate", "chmod", "chown", "lchown", "utime", "setxattr", "removexattr"):
        put(os, name, _changing(overlay, getattr(os, name, None)))
    _listing(overlay, put)
    _moving(overlay, put)
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # its other way works on directory handles, past the overlay
    _replace_taken(changed)


def _open(overlay: Overlay, before: Callable[..., Any]) -> Callable[..., Any]:
    def ours(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:  # as the built-in `open`
        path = _path(file)
        if path is None:
            return before(file, mode, *args, **kwargs)
        writes = any(letter in mode for letter in "wax+")
        if not writes and not overlay.dirty:
            return before(file, mode, *args, **kwargs)
        if "x" in mode and overlay.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), file)
        place = overlay.to_write(path, "w" not in mode) if writes else overlay.to_read(path)
        if place == path:
            return before(file, mode, *args, **kwargs)
        try:
            handle = before(place, mode, *args, **kwargs)
        except OSError as error:
            error.filename = file
            raise
        _show_name(handle, file)
        return handle

    return ours


def _show_name(handle: Any, file: Any) -> None:  # any kind of file object
    raw = getattr(getattr(handle, "buffer", handle), "raw", handle)
    if isinstance(raw, io.FileIO):
        raw.name = file


def _os_open(overlay: Overlay, before: Callable[..., Any]) -> Callable[..., Any]:
    def ours(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        name = _path(path)
        if name is None or dir_fd is not None:
            return before(path, flags, mode, dir_fd=dir_fd)  # type: ignore[no-any-return]  # a descriptor
        if flags & _WRITES:
            if flags & os.O_EXCL and flags & os.O_CREAT and overlay.exists(name):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            emptied = flags & os.O_TRUNC and flags & os.O_CREAT  # without O_CREAT there has to be a file to empty
            place = overlay.to_write(name, not emptied)
        else:
            place = overlay.to_read(name)
        return _named(path, lambda: before(place, flags, mode))  # type: ignore[no-any-return]  # a descriptor

    return ours


def _reading(overlay: Overlay, before: Any) -> Callable[..., Any]:  # a C function
    def ours(path: Any, *args: Any, **kwargs: Any) -> Any:  # as the ordinary call
        if not overlay.dirty or kwargs.get("dir_fd") is not None:
            return before(path, *args, **kwargs)
        name = _path(path)
        if name is None:
            return before(path, *args, **kwargs)
        return _named(path, lambda: before(overlay.to_read(name), *args, **kwargs))

    return ours


def _changing(overlay: Overlay, before: Any) -> Callable[..., Any]:  # a C function
    def ours(path: Any, *args: Any, **kwargs: Any) -> Any:  # as the ordinary call
        name = _path(path)
        if name is None or kwargs.get("dir_fd") is not None:
            return before(path, *args, **kwargs)
        place = overlay.to_read(name)
        if os.path.isdir(place) and not overlay.is_free(overlay.absolute(place)):
            return None  # an attribute of a directory of the user's: nothing that a measured run needs
        return _named(path, lambda: before(overlay.to_write(name, keep=True), *args, **kwargs))

    return ours


def _listing(overlay: Overlay, put: Callable[[Any, str, Callable[..., Any]], None]) -> None:
    listdir, scandir, getcwd, readlink = os.listdir, os.scandir, os.getcwd, os.readlink

    def names(path: Any = ".") -> Any:  # as `os.listdir`
        name = _path(path)
        if not overlay.dirty or name is None:
            return listdir(path)
        found = overlay.listdir(name)
        return [os.fsencode(n) for n in found] if isinstance(path, bytes) else found

    def entries(path: Any = ".") -> Any:  # as `os.scandir`
        name = _path(path)
        if not overlay.dirty or name is None or isinstance(path, bytes):
            return scandir(path)
        return _Scan(name, overlay.listdir(name))

    def link(path: Any, *, dir_fd: int | None = None) -> Any:  # as `os.readlink`
        name = _path(path)
        if not overlay.dirty or name is None or dir_fd is not None:
            return readlink(path, dir_fd=dir_fd)
        return overlay.seen(readlink(overlay.to_read(name)))

    put(os, "listdir", names)
    put(os, "scandir", entries)
    put(os, "readlink", link)
    put(os, "getcwd", lambda: overlay.seen(getcwd()))


def _moving(overlay: Overlay, put: Callable[[Any, str, Callable[..., Any]], None]) -> None:
    mkdir, rmdir, unlink, replace, symlink = os.mkdir, os.rmdir, os.unlink, os.replace, os.symlink

    def make(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        _need_path(path, dir_fd, lambda name: overlay.mkdir(name, mode), lambda: mkdir(path, mode, dir_fd=dir_fd))

    def drop(path: Any, *, dir_fd: int | None = None) -> None:
        _need_path(path, dir_fd, overlay.rmdir, lambda: rmdir(path, dir_fd=dir_fd))

    def remove(path: Any, *, dir_fd: int | None = None) -> None:
        _need_path(path, dir_fd, overlay.unlink, lambda: unlink(path, dir_fd=dir_fd))

    def move(src: Any, dst: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        source, target = _path(src), _path(dst)
        if source is None or target is None or src_dir_fd is not None or dst_dir_fd is not None:
            replace(src, dst, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
            return
        overlay.rename(source, target)

    def lead(src: Any, dst: Any, target_is_directory: bool = False, *, dir_fd: int | None = None) -> None:
        source, target = _path(src), _path(dst)
        if source is None or target is None or dir_fd is not None:
            symlink(src, dst, target_is_directory, dir_fd=dir_fd)
            return
        overlay.symlink(source, target, target_is_directory)

    def copy(src: Any, dst: Any, **_options: Any) -> None:  # as `os.link`; two names of one file would reach the original
        shutil.copyfile(src, dst)

    put(os, "mkdir", make)
    put(os, "rmdir", drop)
    for name, ours in (("unlink", remove), ("remove", _same(remove)), ("replace", move), ("rename", _same(move))):
        put(os, name, ours)
    put(os, "symlink", lead)
    put(os, "link", copy)


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: function(*args, **kwargs)


def _need_path(path: Any, dir_fd: int | None, ours: Callable[[str], None], before: Callable[[], None]) -> None:
    name = _path(path)
    if name is None or dir_fd is not None:
        before()
    else:
        ours(name)


def _named(path: Any, call: Callable[[], Any]) -> Any:
    """Make a call; an error names the path that the script gave."""
    try:
        return call()
    except OSError as error:
        error.filename = path
        raise


def _path(value: Any) -> str | None:
    """A path as text; None: a descriptor, or nothing that is a path."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return None
    try:
        return os.fsdecode(value)
    except TypeError:
        return None


class _Entry:
    """As `os.DirEntry`."""

    def __init__(self, folder: str, name: str) -> None:
        self.name, self.path = name, os.path.join(folder, name)

    def __fspath__(self) -> str:
        return self.path

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory."""
        return os.path.isdir(self.path) and (follow_symlinks or not self.is_symlink())

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return os.path.isfile(self.path) and (follow_symlinks or not self.is_symlink())

    def is_symlink(self) -> bool:
        """Whether it is a link."""
        return os.path.islink(self.path)

    def is_junction(self) -> bool:
        """Never, on these systems."""
        return False

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its status."""
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def inode(self) -> int:
        """Its inode's number."""
        return os.lstat(self.path).st_ino


class _Scan:
    """As the iterator of `os.scandir`."""

    def __init__(self, folder: str, names: list[str]) -> None:
        self._entries = iter([_Entry(folder, name) for name in names])

    def __iter__(self) -> Iterator[_Entry]:
        return self

    def __next__(self) -> _Entry:
        return next(self._entries)

    def __enter__(self) -> _Scan:
        return self

    def __exit__(self, *args: object) -> None:
        return None

    def close(self) -> None:
        """Nothing to close."""


def _replace_taken(changed: dict[int, tuple[Any, Any]]) -> None:
    """Modules that took a call by name before (`from os import stat`, `bltn_open = open`) get ours."""
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if name in ("posix", "nt", "_io", "breakeven.capture.scratch", "breakeven.capture.outcome") or not hasattr(
            module, "__dict__"
        ):
            continue
        for key, value in list(vars(module).items()):
            if callable(value) and id(value) in changed and name != "breakeven.capture.redirect":
                setattr(module, key, changed[id(value)][1])
    accessor = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)  # Python 3.10 keeps the calls in a class
    for key, value in list(vars(accessor).items()) if accessor is not None else ():
        function = value.__func__ if isinstance(value, staticmethod) else value
        if id(function) in changed:
            setattr(accessor, key, staticmethod(changed[id(function)][1]))


def redirect_libraries(overlay: Overlay) -> None:
    """What opens files by name below Python: PyTorch's archives, and SQLite. Called once PyTorch is imported."""
    import sqlite3

    import torch

    writer, reader, connect = torch._C.PyTorchFileWriter, torch._C.PyTorchFileReader, sqlite3.connect

    def write(file: Any, *args: Any, **kwargs: Any) -> Any:  # a name or a stream
        return writer(overlay.to_write(file, False) if isinstance(file, str) else file, *args, **kwargs)

    def read(file: Any, *args: Any, **kwargs: Any) -> Any:  # a name or a stream
        return reader(overlay.to_read(file) if isinstance(file, str) else file, *args, **kwargs)

    def open_database(database: Any, *args: Any, **kwargs: Any) -> Any:  # as `sqlite3.connect`
        name = _path(database)
        if name and name != ":memory:" and not name.startswith("file:"):
            for suffix in ("-wal", "-journal"):
                if overlay.exists(name + suffix):
                    overlay.to_write(name + suffix, keep=True)
            database = overlay.to_write(name, keep=True)
        return connect(database, *args, **kwargs)

    torch._C.PyTorchFileWriter = write  # type: ignore[assignment, misc]  # a stand-in for the class
    torch._C.PyTorchFileReader = read  # type: ignore[assignment, misc]  # a stand-in for the class
    sqlite3.connect = open_database
