"""What the user wants run: a script or a module, checked before a child is started. No torch, no user code runs here."""

from __future__ import annotations

import ast
import importlib.machinery
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from breakeven.capture.launching import console_script
from breakeven.capture.marks import is_installed
from breakeven.capture.request import CaptureRequest
from breakeven.errors import InputError


@dataclass(frozen=True)
class Target:
    """A script (absolute path) or a module (dotted name), and the file that its code is in where that is known.

    Attributes:
        name: the path or the dotted name.
        module: which of the two.
        file: where its code is.
        installed: it is a library's or a console script, not the user's own file: where it starts Python, that is followed.
    """

    name: str
    module: bool
    file: Path | None
    installed: bool = False


def resolve(request: CaptureRequest) -> Target:
    """Find and check the script.

    Raises:
        InputError: no such script or module, not Python, a syntax error in it, a mark or a number that cannot be.
    """
    _check_numbers(request)
    cwd = Path(request.cwd) if request.cwd is not None else Path.cwd()
    if not cwd.is_dir():
        raise InputError(f"{cwd}: no such directory to run in")
    path = cwd / request.target
    if path.is_dir():
        if not (path / "__main__.py").is_file():
            raise InputError(f"{request.target} is a directory without a __main__.py: name the script in it")
        path = path / "__main__.py"
    if path.is_file():
        _check_syntax(path, request.target)
        target = Target(os.path.abspath(path), False, path)
    elif (script := console_script(request.target)) is not None and not _is_module(request.target, cwd):
        _check_syntax(script, str(script))
        target = Target(os.path.abspath(script), False, script, installed=True)
    else:
        target = _module(request.target, cwd)
    if request.mark is not None:
        _check_mark(request.mark, cwd)
    return target


def resolve_own(request: CaptureRequest) -> Target:
    """As `resolve`, for who reads or edits the script itself, where a launcher is of no use.

    Raises:
        InputError: as `resolve`; or it is a program that is installed, which may start a script.
    """
    found = resolve(request)
    if found.installed and not found.module:
        raise InputError(f"{request.target} is an installed program: name the script that it starts (`why` takes both)")
    return found


def _module(name: str, cwd: Path) -> Target:
    if not all(part.isidentifier() for part in name.split(".")) or name.endswith(".py"):
        raise InputError(f"{name}: no such script in {cwd}")
    where = [str(cwd), *sys.path]
    spec = None
    for part in name.split("."):
        spec = importlib.machinery.PathFinder.find_spec(part, where)
        if spec is None:
            raise InputError(f"{name}: no such script in {cwd}, and no module of that name")
        where = list(spec.submodule_search_locations or ())
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.machinery.PathFinder.find_spec("__main__", where)
        if spec is None:
            raise InputError(f"{name} is a package without a __main__: name a module in it")
    file = Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None
    if file is None:
        raise InputError(f"{name} is no module written in Python: it cannot be run as a script")
    _check_syntax(file, str(file))
    return Target(name, True, file, installed=is_installed(str(file)))


def _is_module(name: str, cwd: Path) -> bool:
    """Whether `python -m NAME` would run something."""
    try:
        return _module(name, cwd).file is not None
    except InputError:
        return False


def _check_syntax(path: Path, shown: str) -> ast.Module:
    try:
        return ast.parse(path.read_bytes(), shown)
    except SyntaxError as error:
        line = f":{error.lineno}" if error.lineno else ""
        text = f": {error.text.strip()[:120]}" if error.text and error.text.strip() else ""
        raise InputError(f"{shown}{line}: {error.msg}{text}") from None
    except ValueError as error:  # null bytes
        raise InputError(f"{shown}: not a Python script ({error})") from None
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror})") from None


def _check_mark(mark: str, cwd: Path) -> None:
    file, _, line = mark.rpartition(":")
    if not file or not line.isdigit() or int(line) < 1:
        raise InputError(f"--mark {mark}: give FILE:LINE, such as train.py:31")
    path = cwd / file
    if not path.is_file():
        raise InputError(f"--mark {mark}: no such file")
    tree = _check_syntax(path, file)
    lines = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    if int(line) not in lines:
        nearest = min(lines, key=lambda n: abs(n - int(line)), default=None)
        hint = f"; the nearest is line {nearest}" if nearest is not None else ""
        raise InputError(f"--mark {mark}: no statement begins on that line{hint}")


def _check_numbers(request: CaptureRequest) -> None:
    if request.steps is not None and request.steps < 1:
        raise InputError(f"--steps {request.steps}: at least 1 step has to be measured")
    if request.seconds is not None and not 0 < request.seconds < 1e6:
        raise InputError(f"--seconds {request.seconds:g}: give a time above 0")
