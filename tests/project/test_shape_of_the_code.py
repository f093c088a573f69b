"""The shape that the project keeps: small files with one idea each, said in their first line; columns named in one place."""

from __future__ import annotations

import ast
import pathlib

import pytest

from breakeven.timeline import schema
from tests.project.sources import MODULES, PACKAGE, ROOT, name, tracked, tree

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
FORBIDDEN_ROOMS = {"utils", "util", "common", "helpers", "core", "misc", "config", "base"}
#: The child that runs a script, the door of the command line, calls into code that is not ours.
BORDERS = ["capture/passes.py", "cli/__init__.py", "foreign.py"]
#: Methods and functions of polars whose text arguments name columns.
TAKES_COLUMNS = {
    "col", "select", "with_columns", "get_column", "alias", "drop", "sort", "sort_by", "group_by", "over", "unique", "explode",
    "join", "to_series", "unnest", "rename", "struct", "drop_nulls", "partition_by",
}  # fmt: skip
COLUMNS = {c.name for c in (*schema.CALLS, *schema.ROWS, *schema.EVENTS)}
#: Those that are no everyday word: as text anywhere they can only be the column.
UNMISTAKABLE = {c for c in COLUMNS if c.endswith("_ns")} | {schema.CALL_INPUT_DTYPES.name}


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_module_says_what_it_is(path: pathlib.Path) -> None:
    """Its docstring's first line is a sentence."""
    said = ast.get_docstring(tree(path)) or ""
    assert said.strip().splitlines()[:1], f"{name(path)} has no docstring"
    assert said.split("\n\n")[0].rstrip().endswith((".", "?", "!", ":", "|")), said.splitlines()[0]


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_files_and_functions_stay_small(path: pathlib.Path) -> None:
    """No file over 400 lines, no function over 60."""
    lines = path.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST_FILE, f"{lines} lines: is there a second idea inside?"
    functions = [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {f.name: size for f in functions if (size := (f.end_lineno or f.lineno) - f.lineno + 1) > LONGEST_FUNCTION}
    assert long == {}


@pytest.mark.parametrize("path", [p for p in MODULES if p != PACKAGE / "timeline" / "schema.py"], ids=name)
def test_columns_are_named_in_the_schema_only(path: pathlib.Path) -> None:
    """Nothing else spells the name of a table's column as a string."""
    spelled = [f"{name(path)}:{line}: {text}" for line, text in spelled_columns(tree(path))]
    assert spelled == []


def spelled_columns(module: ast.Module) -> list[tuple[int, str]]:
    """Texts that are surely the name of a column: unmistakable ones, and those that a polars call takes.

    The docstring-like texts of a program are no names, and neither are the columns of other tables.
    """
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and node.value in UNMISTAKABLE:
            found.append((node.lineno, node.value))
        if isinstance(node, ast.Call) and called(node) in TAKES_COLUMNS:
            texts = [a for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Constant)]
            found += [(t.lineno, t.value) for t in texts if t.value in COLUMNS - UNMISTAKABLE]
    return found


def called(call: ast.Call) -> str:
    """The last part of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def test_a_spelled_column_would_be_seen() -> None:
    """The test above can fail."""
    code = "frame.select('op', pl.col('device')); frame['host_ns']; print('op')"
    assert sorted(text for _, text in spelled_columns(ast.parse(code))) == ["device", "host_ns", "op"]


def test_no_room_is_called_after_nothing() -> None:
    """A name such as `utils` says nothing about what is inside."""
    assert {p.stem for p in PACKAGE.rglob("*")} & FORBIDDEN_ROOMS == set()


def test_broad_excepts_stay_at_the_borders() -> None:
    """Any exception at all is caught around code that is not ours, and at the door of the command line."""
    broad = [
        name(path)
        for path in MODULES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or {"Exception", "BaseException"} & set(ast.unparse(node.type).strip("()").split(", ")))
    ]
    assert sorted(broad) == BORDERS


def test_the_product_names_no_path_of_a_machine() -> None:
    """Neither a home directory nor a folder outside the repository."""
    tell = (f"{ROOT.parent}/", "../shared/", "/home/", "/root/")
    files = [p for p in tracked("src", "examples", "README.md", "docs", "requirements.lock") if p.suffix != ".parquet"]
    assert files
    found = [f"{p.relative_to(ROOT)}: {t}" for p in files for t in tell if t in p.read_text(encoding="utf-8", errors="replace")]
    assert found == []


def test_the_lock_names_versions_and_nothing_else() -> None:
    """No host, no path, no build suffix; torch is the version that the forecasts were made with."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert "torch==2.13.0" in lines
    assert [line for line in lines if "==" not in line or "/" in line or "+" in line] == []


def test_what_every_project_has_is_there() -> None:
    """Licence, changelog, architecture, CI's script."""
    for wanted in (
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "Makefile",
        "src/breakeven/py.typed",
    ):
        assert (ROOT / wanted).is_file(), wanted
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
