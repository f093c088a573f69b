"""Where runs lie: a folder of this machine or an fsspec URL, as named whole files. It knows nothing of what is in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from breakeven.errors import InputError

_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")


class Place(Protocol):
    """Named files below one folder; names use `/`. A file is written whole or not at all."""

    @property
    def name(self) -> str:
        """As the user gave it."""

    def read(self, name: str) -> bytes | None:
        """The file's content; None: there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Writes or replaces a file; whoever reads sees the old one or the new one."""

    def names(self, below: str = "") -> tuple[str, ...]:
        """Names of the files in a folder (not deeper), sorted; what is not finished is not among them."""

    def make(self, files: dict[str, bytes]) -> None:
        """Makes the folder with these files in it, all at once; it must not exist, or be empty."""

    def check(self) -> None:
        """Makes sure that the folder could be made; an object store only says so when it is written."""

    def taken(self) -> bool:
        """Whether something is there already."""

    def folders(self) -> Iterator[str]:
        """Paths of the folders right below."""

    def claim(self) -> AbstractContextManager[None]:
        """Holds the place for one writer while it lasts; a second one gets an error."""


def place(path: str) -> Place:
    """The place that a path or a URL names.

    Raises:
        InputError: the URL's kind is not known here.
        MissingExtra: a URL is given and fsspec is not installed.
    """
    if not path:
        raise InputError("a run needs a folder, and the name given is empty")
    if path.startswith("file://") or not _URL.match(path):
        from breakeven.store.local import Local

        return Local(path)
    from breakeven.store.remote import Remote

    return Remote.at(path)
