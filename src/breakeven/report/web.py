"""The pages of `breakeven ui`, by one template; whatever a name in a run holds, it is text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

import polars as pl
from jinja2 import Environment

from breakeven.report.html.writing import Link
from breakeven.report.numbers import digits
from breakeven.report.text import clean
from breakeven.results.runs import RunRow, RunsReport

_ROWS, _DIGITS, _LONGEST = 200, 4, 120
_TEMPLATE = "runs.html.j2"


@dataclass(frozen=True)
class Grid:
    """A table of a page; of what is too long the beginning."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True)
class _Listed:
    """A run as the list shows it."""

    row: RunRow
    key: str
    comparable: bool
    first: bool
    second: bool


def key_of(path: str) -> str:
    """What a run is asked for by: its id would not tell a copy from the original."""
    return sha256(path.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def list_page(report: RunsReport) -> bytes:
    """The list of runs; the two newest answers of `why` are chosen to be compared, the older one first."""
    answers = [key_of(run.path) for run in report.runs if run.devices]
    listed = [
        _Listed(run, key, bool(run.devices), key == _at(answers, 1), key == _at(answers, 0))
        for run, key in ((run, key_of(run.path)) for run in report.runs)
    ]  # fmt: skip
    return _page("Runs", runs_shown=True, runs=listed, comparable=len(answers), folder=report.folder, warnings=report.warnings)


def said_page(title: str, warnings: Sequence[str] = ()) -> bytes:
    """A page that says one thing."""
    return _page(title, warnings=warnings)


def tables_page(title: str, grids: Sequence[Grid], links: Sequence[Link] = (), warnings: Sequence[str] = ()) -> bytes:
    """Tables below each other."""
    return _page(title, grids=grids, links=links, warnings=warnings)


def grid_of(name: str, frame: pl.DataFrame) -> Grid:
    """A table of a run: its first rows, numbers to four digits."""
    rows = tuple(tuple(_cell(value) for value in row) for row in frame.head(_ROWS).iter_rows())
    return Grid(name, tuple(clean(c) for c in frame.columns), rows, max(0, frame.height - _ROWS))


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return digits(value, _DIGITS) if isinstance(value, float) else clean(str(value))[:_LONGEST]


def _at(ids: Sequence[str], position: int) -> str | None:
    return ids[position] if position < len(ids) else None


def _page(title: str, **values: object) -> bytes:
    text = (files("breakeven.report") / "data" / _TEMPLATE).read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(text)
    return template.render(title=clean(title), **values).encode("utf-8", "replace")
