"""Runs a user's script as `python SCRIPT` or `python -m MODULE` would, inside this process, with marks in its loops."""

from __future__ import annotations

import builtins
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, ModuleType, TracebackType

from breakeven.capture import marks


@dataclass(frozen=True)
class Program:
    """Compiled code with everything that `__main__` needs."""

    code: CodeType
    file: str
    module: ModuleType


def load(target: str, module: bool, args: Sequence[str], finder: marks.MarkingFinder) -> Program:
    """Set `sys.argv`, `sys.path[0]` and `__main__`, and compile the script with its marks.

    Args:
        target: absolute path of a script, or dotted name of a module.
        module: whether it is a module's name.
        args: the script's arguments.
        finder: what gives marks to the script and to the modules beside it.

    Raises:
        SyntaxError, OSError, ImportError: as Python itself would.
    """
    sys.path.insert(0, os.getcwd() if module else os.path.dirname(target))
    marks.install(finder)
    spec = _module_spec(target) if module else None
    file = spec.origin if spec is not None and spec.origin else target
    sys.argv[:] = [os.path.abspath(file) if module else target, *args]
    main = ModuleType("__main__")
    main.__dict__.update(__file__=file, __builtins__=builtins, __spec__=spec, __cached__=None)
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", file)
    if spec is not None:
        main.__package__ = spec.parent
    with open(file, "rb") as handle:
        source = handle.read()
    sys.modules["__main__"] = main
    return Program(finder.compile(source, file), file, main)


def run(program: Program) -> None:
    """Run it; whatever it raises comes out as it is."""
    exec(program.code, program.module.__dict__)


def show_traceback(error: BaseException, ours: Callable[[str], bool]) -> None:
    """Print an exception as Python would have, without the frames that are ours."""
    clean = error.with_traceback(_without(error.__traceback__, ours))
    sys.excepthook(type(clean), clean, clean.__traceback__)


def _without(trace: TracebackType | None, ours: Callable[[str], bool]) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not ours(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    for at, part in enumerate(kept):
        part.tb_next = kept[at + 1] if at + 1 < len(kept) else None
    return kept[0] if kept else None


def _module_spec(name: str) -> importlib.machinery.ModuleSpec:
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"no module that can be run is named {name!r}", name=name)
    return spec
