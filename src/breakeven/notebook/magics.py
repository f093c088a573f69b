"""The magics: what the cell needs of the session is handed to a child, or copied; the session is left as it was."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

from breakeven.errors import BreakevenError, InputError
from breakeven.notebook.shown import Line, WhyShown
from breakeven.workflows.time import TimedHere

T = TypeVar("T")

#: Options of each magic: name, kind, whether it may be repeated.
_Options = tuple[tuple[str, Callable[[str], object], bool], ...]
_WHY: Final[_Options] = (("--gpu", str, True), ("--host", str, False), ("--steps", int, False), ("--seconds", float, False))
_TIME: Final[_Options] = (("--device", str, True), ("--seconds", float, False))


def load(shell: Any) -> None:  # IPython's shell
    """What `%load_ext breakeven` calls."""

    def why(line: str, cell: str) -> WhyShown | None:
        """%%why [--gpu NAME]... [--host NAME] [--steps N] [--seconds S]: which device should the loop in this cell run on?"""
        return _told(lambda: ask_why(line, cell, shell.user_ns, _cells(shell), shell.transform_cell))

    def time_devices(line: str, cell: str) -> TimedHere | None:
        """%%time_devices [--device D]... [--seconds S]: this cell on each device, in turns; `device` is the device."""
        return _told(lambda: time_cell(line, cell, shell.user_ns, shell.transform_cell))

    shell.register_magic_function(why, magic_kind="cell", magic_name="why")
    shell.register_magic_function(time_devices, magic_kind="cell", magic_name="time_devices")


def ask_why(
    line: str, cell: str, session: dict[str, Any], cells: list[str], transform: Callable[[str], str] = lambda text: text
) -> WhyShown:
    """The answer for the loop in a cell; as `breakeven why`.

    Args:
        line: options.
        cell: source of the cell.
        session: the session's variables.
        cells: sources of the cells that ran before.
        transform: makes Python of IPython's own syntax.

    Raises:
        InputError: a wrong option, or a variable that cannot be handed over.
        NoAnswer: nothing ran that could be timed.
    """
    from dataclasses import replace

    from breakeven.machine.gpus import find_gpu
    from breakeven.machine.hosts import host_name
    from breakeven.notebook.handing import CELL, gather, write
    from breakeven.workflows.shown_paths import with_shown_paths
    from breakeven.workflows.why import WhyRequest
    from breakeven.workflows.why import why as answer

    asked = _options("%%why", line, _WHY)
    gpus = tuple(dict.fromkeys(find_gpu(name).name for name in asked.gpu or ["Tesla T4"]))
    host = None if asked.host is None else host_name(asked.host)
    source = transform(cell)
    with tempfile.TemporaryDirectory(prefix="breakeven-") as folder, Line() as on_progress:
        script = write(Path(folder).resolve(), source, gather(source, session, cells))
        request = WhyRequest(
            str(script), gpus=gpus, host=host, steps=asked.steps, seconds=asked.seconds, quiet=True, named=bool(asked.gpu)
        )
        report = with_shown_paths(answer(request, on_progress), Path(folder))
    return WhyShown(replace(report, script=CELL))


def time_cell(line: str, cell: str, session: dict[str, Any], transform: Callable[[str], str] = lambda text: text) -> TimedHere:
    """A cell on devices that take turns; as `breakeven time`.

    Raises:
        InputError: a wrong option.
        NoAnswer: a device is not usable.
    """
    from breakeven.measure.placing import random_kept
    from breakeven.notebook.copies import cell_step
    from breakeven.workflows.time import time_here

    asked = _options("%%time_devices", line, _TIME)
    source = transform(cell)
    try:
        code = compile(source, "<cell>", "exec")
    except SyntaxError as error:
        raise InputError(f"%%time_devices: {error.msg} in line {error.lineno}") from error
    with random_kept():
        return time_here(cell_step(source, code, session), asked.device, seconds=asked.seconds or 5.0)


def _options(name: str, line: str, known: _Options) -> argparse.Namespace:
    parser = _Parser(prog=name, add_help=False)
    for option, kind, repeated in known:
        parser.add_argument(option, type=kind, action="append" if repeated else "store")
    return parser.parse_args(shlex.split(line))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {message}; {self.format_usage().strip()}")


def _cells(shell: Any) -> list[str]:  # IPython's shell
    return [shell.transform_cell(cell) for cell in shell.user_ns.get("In", [])[:-1] if not cell.lstrip().startswith("%%")]


def _told(call: Callable[[], T]) -> T | None:
    """An error of ours is one clear line here too, never a traceback."""
    try:
        return call()
    except BreakevenError as error:
        sys.stderr.write(f"breakeven: {error}\n")
        return None
