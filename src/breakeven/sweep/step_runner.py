"""Runs a step that a function makes, over and over: `python -m breakeven.sweep.step_runner MODULE:FUNCTION FOLDER NAME=VALUE…`.

It runs in the child of a capture, as the user's script does; the capture ends it.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import breakeven
from breakeven.sweep import SCRIPT, Reached


def load(where: str, folder: str) -> Callable[..., Any]:  # whatever the user's function takes
    """The function that `MODULE:FUNCTION`, or `FILE.py:FUNCTION`, names."""
    module, _, name = where.rpartition(":")
    sys.path.insert(0, folder)
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location(SCRIPT, module)
        if spec is None or spec.loader is None:
            raise ImportError(f"{module} cannot be imported")
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[SCRIPT] = loaded
        with suppress(Reached):  # what stands below the call is of its answer
            spec.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(module)
    found: Callable[..., Any] = getattr(loaded, name)
    return found


def value(text: str) -> Any:  # a literal of Python, else text
    """A value as it was written on the command line.

    >>> value("16"), value("lstm"), value("True")
    (16, 'lstm', True)
    """
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def main(arguments: list[str]) -> None:
    """Makes the step and runs it until somebody ends the process."""
    where, folder, *given = arguments
    pairs = (text.partition("=") for text in given)
    step = load(where, str(Path(folder)))(**{name: value(said) for name, _, said in pairs})
    while True:
        breakeven.step()
        step()


if __name__ == "__main__":
    main(sys.argv[1:])
