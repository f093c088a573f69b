"""A copy-on-write layer over the file system: what the measured script writes goes to a scratch folder, what it reads is
its own files or what it has written itself. Nothing of the user's is changed.

Pure path work with the ordinary calls of `os`, taken before anything is patched. It does not know what code outside Python
opens; `guard.py` keeps that from doing harm. See docs/adr/0003-scratch-copies.md.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from dataclasses import dataclass, field
from typing import Any, Final

#: Places where writing changes nothing of the user's: devices and shared memory, and the kernel's own files.
FREE: Final = ("/dev", "/proc", "/sys/fs/cgroup")


@dataclass(frozen=True)
class Calls:
    """The ordinary calls, kept from before they were patched."""

    open: Any = os.open  # C functions: their own overloads
    close: Any = os.close
    stat: Any = os.stat
    lstat: Any = os.lstat
    listdir: Any = os.listdir
    scandir: Any = os.scandir
    mkdir: Any = os.mkdir
    rmdir: Any = os.rmdir
    unlink: Any = os.unlink
    rename: Any = os.replace
    symlink: Any = os.symlink
    readlink: Any = os.readlink
    getcwd: Any = os.getcwd
    chmod: Any = os.chmod


@dataclass
class Overlay:
    """One layer; `folder` holds it. Paths come in and go out as the user's script would see them, unless said otherwise."""

    folder: str
    calls: Calls = field(default_factory=Calls)
    hidden: set[str] = field(default_factory=set)  # originals that are deleted or replaced
    dirty: bool = False  # anything written or deleted yet

    @property
    def layer(self) -> str:
        """Where the copies are: the file `/a/b` is `LAYER/a/b`."""
        return os.path.join(self.folder, "files")

    # --- where to go

    def absolute(self, path: str) -> str:
        """Absolute, normalised path as the script sees it."""
        if not os.path.isabs(path):
            path = os.path.join(self.seen(self.calls.getcwd()), path)
        return self.seen(os.path.normpath(path))

    def seen(self, path: str) -> str:
        """A path as the script sees it: without the layer in front."""
        layer = self.layer
        if path == layer:
            return "/"
        return path[len(layer) :] if path.startswith(layer + os.sep) else path

    def is_free(self, path: str) -> bool:
        """Whether an absolute path may be written as it is."""
        return any(path == free or path.startswith(free + os.sep) for free in (*FREE, self.folder))

    def to_read(self, path: str) -> str:
        """Where to look for a path: the layer's copy, else the original, else a path that is not there."""
        if not self.dirty:
            return path
        whole = self.absolute(path)
        if self.is_free(whole):
            return whole
        copy = self._copy(whole)
        if self._there(copy) or self._is_hidden(whole):
            return copy
        return whole

    def to_write(self, path: str, keep: bool) -> str:
        """Where to write a path; with `keep`, what it holds is copied there first.

        A path whose directory does not exist, or that is a directory, comes out so that the call fails as it should.
        """
        whole = self.absolute(path)
        if self.is_free(whole):
            return whole
        copy = self._copy(whole)
        if self._there(copy):
            return self._through_link(copy)
        original = self._original(whole)
        if original is not None and stat.S_ISDIR(self.calls.stat(original).st_mode):
            return original
        if not self.exists(os.path.dirname(whole)):
            return copy
        self._make_parents(whole)
        if original is not None and keep:
            self._copy_file(original, copy)
        self.dirty = True
        self.hidden.add(whole)
        return copy

    def exists(self, path: str) -> bool:
        """Whether the script should find something there (a dangling link counts)."""
        whole = self.absolute(path)
        return self._there(self._copy(whole)) or (not self._is_hidden(whole) and self._there(whole))

    # --- what to do

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        """As `os.mkdir`."""
        whole = self.absolute(path)
        if self.is_free(whole):
            self.calls.mkdir(whole, mode)
            return
        if self.exists(whole):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        self._need_parent(whole, path)
        self._make_parents(whole)
        self.calls.mkdir(self._copy(whole), mode | 0o700)
        self.dirty = True

    def unlink(self, path: str) -> None:
        """As `os.unlink`."""
        whole = self.absolute(path)
        if self.is_free(whole):
            self.calls.unlink(whole)
            return
        self._need(whole, path)
        if stat.S_ISDIR(self.calls.lstat(self.to_read(whole)).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if self._there(self._copy(whole)):
            self.calls.unlink(self._copy(whole))
        self.hidden.add(whole)
        self.dirty = True

    def rmdir(self, path: str) -> None:
        """As `os.rmdir`."""
        whole = self.absolute(path)
        if self.is_free(whole):
            self.calls.rmdir(whole)
            return
        self._need(whole, path)
        if self.listdir(whole):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        if self._there(self._copy(whole)):
            self.calls.rmdir(self._copy(whole))
        self.hidden.add(whole)
        self.dirty = True

    def rename(self, source: str, target: str) -> None:
        """As `os.replace`: an original is copied under its new name and hidden under the old one."""
        old, new = self.absolute(source), self.absolute(target)
        if self.is_free(old) and self.is_free(new):
            self.calls.rename(old, new)
            return
        self._need(old, source)
        self._need_parent(new, target)
        if not self.is_free(new):
            self._make_parents(new)
        place = new if self.is_free(new) else self._copy(new)
        copy = old if self.is_free(old) else self._copy(old)
        original = None if self.is_free(old) else self._original(old)
        if original is not None:
            self._merge(old, original, copy)
        self.dirty = True
        self.calls.rename(copy, place)
        self.hidden.update((old, new))

    def symlink(self, source: str, target: str, directory: bool = False) -> None:
        """As `os.symlink`; the link leads to where its target can be found now."""
        whole = self.absolute(target)
        if self.is_free(whole):
            self.calls.symlink(source, whole)
            return
        if self.exists(whole):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target)
        self._need_parent(whole, target)
        self._make_parents(whole)
        self.dirty = True
        leads_to = source if os.path.isabs(source) else os.path.join(os.path.dirname(whole), source)
        self.calls.symlink(self.to_read(leads_to), self._copy(whole), directory)

    def listdir(self, path: str) -> list[str]:
        """As `os.listdir`: the original's names without those hidden, and the layer's."""
        whole = self.absolute(path)
        names: dict[str, None] = {}
        found = False
        if not self._is_hidden(whole) and self._there(whole):
            names.update(dict.fromkeys(n for n in self.calls.listdir(whole) if os.path.join(whole, n) not in self.hidden))
            found = True
        if self._there(self._copy(whole)):
            names.update(dict.fromkeys(self.calls.listdir(self._copy(whole))))
            found = True
        if not found:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return list(names)

    # --- helpers

    def _copy(self, whole: str) -> str:
        return self.layer + whole

    def _there(self, path: str) -> bool:
        try:
            self.calls.lstat(path)
        except (OSError, ValueError):
            return False
        return True

    def _is_hidden(self, whole: str) -> bool:
        if not self.hidden:
            return False
        while True:
            if whole in self.hidden:
                return True
            above = os.path.dirname(whole)
            if above == whole:
                return False
            whole = above

    def _original(self, whole: str) -> str | None:
        return whole if not self._is_hidden(whole) and self._there(whole) else None

    def _through_link(self, copy: str) -> str:
        """A link of the layer that leads out of it must not be written through."""
        if not stat.S_ISLNK(self.calls.lstat(copy).st_mode):
            return copy
        leads_to = os.path.normpath(os.path.join(os.path.dirname(copy), self.calls.readlink(copy)))
        return self.to_write(leads_to, keep=True) if not leads_to.startswith(self.layer) else leads_to

    def _need(self, whole: str, shown: str) -> None:
        if not self.exists(whole) and not (self.is_free(whole) and self._there(whole)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown)

    def _need_parent(self, whole: str, shown: str) -> None:
        parent = os.path.dirname(whole)
        if not self.is_free(parent) and not self.exists(parent):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), shown)

    def _make_parents(self, whole: str) -> None:
        missing = []
        at = self._copy(os.path.dirname(whole))
        while not self._there(at) and len(at) > len(self.folder):
            missing.append(at)
            at = os.path.dirname(at)
        for directory in reversed(missing):
            self.calls.mkdir(directory, 0o700)

    def _copy_file(self, original: str, copy: str) -> None:
        with open(self.calls.open(original, os.O_RDONLY | os.O_CLOEXEC), "rb") as source:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with open(self.calls.open(copy, flags, 0o600), "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)

    def _merge(self, whole: str, original: str, copy: str) -> None:
        """Bring an original, file or tree, into the layer, beneath what the layer has of it already."""
        kind = self.calls.lstat(original).st_mode
        self._make_parents(whole)
        if stat.S_ISDIR(kind):
            if not self._there(copy):
                self.calls.mkdir(copy, 0o700)
            for name in self.calls.listdir(original):
                inside = os.path.join(whole, name)
                if not self._is_hidden(inside):
                    self._merge(inside, inside, self._copy(inside))
        elif self._there(copy):
            return
        elif stat.S_ISLNK(kind):
            leads_to = os.path.join(os.path.dirname(original), self.calls.readlink(original))
            self.calls.symlink(leads_to, copy)
        else:
            self._copy_file(original, copy)
