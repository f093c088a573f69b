"""The project's own files, as the tests of this room read them."""

from __future__ import annotations

import ast
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "breakeven"
MODULES = sorted(PACKAGE.rglob("*.py"))


def name(path: pathlib.Path) -> str:
    """Where a module lies inside the package: the id of its test."""
    return path.relative_to(PACKAGE).as_posix()


def dotted(path: pathlib.Path) -> str:
    """The name that a module is imported by."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def tree(path: pathlib.Path) -> ast.Module:
    """The module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def tracked(*patterns: str) -> list[pathlib.Path]:
    """The files that the repository holds, or would: tracked ones, and new ones that are not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in done.stdout.splitlines() if (ROOT / line).is_file()]
