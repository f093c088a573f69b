"""Opens kept answers of `why`: a run, or the JSON that `--json` wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from breakeven import store
from breakeven.errors import InputError
from breakeven.report.json import read_why
from breakeven.results import WhyReport
from breakeven.store.head import HEAD
from breakeven.store.places import place
from breakeven.store.run import Run
from breakeven.workflows.keeping import ANSWER

#: How the JSON of `why` begins.
_JSON = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"breakeven/why/')
_ENOUGH: Final = 200


@dataclass(frozen=True)
class Kept:
    """A kept answer; `run` None: it is a single JSON file."""

    name: str
    report: WhyReport
    run: Run | None = None


def is_kept(path: str) -> bool:
    """Whether a path is a run, or the JSON of `why`."""
    file = Path(path)
    if file.is_file():
        try:
            with file.open("rb") as stream:
                return _JSON.match(stream.read(_ENOUGH)) is not None
        except OSError:
            return False
    return "://" in path or (file / HEAD).is_file()


def kept(path: str) -> Kept:
    """Opens a run of `why`, or its JSON.

    Raises:
        InputError: there is none, or it holds no answer of `why`.
    """
    file = Path(path)
    if file.is_file():
        if not is_kept(path):
            raise InputError(f"{path} is neither a run (`breakeven why --out DIR` keeps one) nor the JSON of `why`")
        try:
            return Kept(path, read_why(file.read_bytes(), path))
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error
    if place(path).read(HEAD) is None:
        raise InputError(f"{path} is neither a run (`breakeven why --out DIR` keeps one) nor the JSON of `why`")
    run = store.open(path)
    report = answer_in(run)
    if report is None:
        raise InputError(f"{path} is a run of `{run.head.kind}`; only runs of `why` hold an answer of that kind")
    return Kept(path, report, run)


def answer_in(run: Run) -> WhyReport | None:
    """The answer of `why` that a run holds; None: it holds none.

    Raises:
        InputError: it is damaged.
    """
    content = run.file(ANSWER)
    return None if content is None else read_why(content, f"{run.path}/{ANSWER}")
