"""Finding runs: every run in a folder and below it, to a few levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from breakeven.errors import InputError
from breakeven.store.head import HEAD
from breakeven.store.places import place
from breakeven.store.run import Run, open_run

#: Levels of folders that are looked through: runs by project, then by name.
_DEEPEST: Final = 3
#: Folders that hold no runs and very many files.
_PASSED: Final = frozenset(["node_modules", "site-packages", "__pycache__", "venv"])


def runs_in(path: str, warnings: list[str] | None = None, *, levels: int = _DEEPEST) -> Iterator[Run]:
    """Every run that is this folder or lies below it.

    Args:
        path: a folder or URL.
        warnings: gets a sentence for each run that cannot be read.
        levels: how many levels of folders are looked through.
    """
    here = place(path)
    if here.read(HEAD) is not None:
        try:
            yield open_run(path)
        except InputError as error:
            if warnings is not None:
                warnings.append(str(error))
        return
    if levels:
        for folder in here.folders():
            if folder.rstrip("/").rsplit("/", 1)[-1] not in _PASSED:
                yield from runs_in(folder, warnings, levels=levels - 1)
