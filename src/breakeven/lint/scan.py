"""Looks at files: reads each, asks all checks, leaves out what a comment excuses."""

from __future__ import annotations

import ast
import gc
import pathlib
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from breakeven.errors import InputError
from breakeven.lint import sources
from breakeven.lint.checks import CHECKS
from breakeven.lint.reading.walker import read_file
from breakeven.results.lint import LintFinding, LintReport

_NOQA = re.compile(r"#\s*noqa(?::\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)
_DEVICE = re.compile(r"cuda|device|\bmps\b|\bgpu\b", re.IGNORECASE)


def scan(paths: Iterable[pathlib.Path]) -> LintReport:
    """All findings in some files and folders.

    Args:
        paths: scripts, notebooks, or folders that hold them.

    Returns:
        The findings by file and line, how many files were looked at, and a warning for each that could not be read.

    Raises:
        InputError: a path names nothing that can be looked at; or it names one file, and that cannot be read.
    """
    files = sources.find_files(paths)
    with _without_collection():
        return _scan(files)


def _scan(files: list[pathlib.Path]) -> LintReport:
    found: list[LintFinding] = []
    said: list[str] = []
    for path in files:
        try:
            found += scan_text(sources.read(path))
        except InputError as error:
            if len(files) == 1:
                raise
            said.append(str(error))
    return LintReport(tuple(found), len(files), tuple(said))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Trees and values are small, many, and let go of file by file: looking for cycles among them takes time and frees little."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def scan_text(source: sources.Source) -> list[LintFinding]:
    """The findings in one file's code, by line.

    Raises:
        InputError: it is no Python.
    """
    if "torch" not in source.text and "CUDA" not in source.text:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old escape in a text is not our matter
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        reason = getattr(error, "msg", None) or str(error)
        raise InputError(f"{source.path}: {f'line {line}: ' if line else ''}{reason}") from error
    statements = source.text.count("\n") + 1
    try:
        facts = read_file(tree, statements, bool(_DEVICE.search(source.text)))
    except RecursionError as error:
        raise InputError(f"{source.path}: nested too deeply to be read") from error
    lines = source.text.splitlines()
    found = {}
    for check in CHECKS:
        for line, column, message in check.find(facts):
            key = (line, check.code)
            if key not in found and not excused(lines, line, check.code):
                text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
                found[key] = LintFinding(
                    check.code, check.id, source.path, line, column, text, _placed(source, line, message), check.remedies
                )
    return [found[key] for key in sorted(found)]


def excused(lines: list[str], line: int, code: str) -> bool:
    """Whether a comment on the line says that this code, or any, is known and wanted.

    >>> excused(["loss.item()  # noqa: BE101"], 1, "BE101"), excused(["loss.item()  # noqa: BE102"], 1, "BE101")
    (True, False)
    """
    match = _NOQA.search(lines[line - 1]) if 0 < line <= len(lines) else None
    if match is None:
        return False
    codes = match["codes"]
    return codes is None or code in re.split(r"[\s,]+", codes.upper())


def _placed(source: sources.Source, line: int, message: str) -> str:
    """The message; in a notebook with the cell, whose lines are counted by themselves."""
    if not source.places or not 0 < line <= len(source.places):
        return message
    cell, row = source.places[line - 1]
    return f"cell {cell}, line {row}: {message}"
