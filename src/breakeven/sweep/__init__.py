"""Sweeps: grids over a script's parameters, cells that are measured or priced, crossing points, engines.

A cell is one choice of values. Some cells are run: timed on the CPU and recorded on the virtual GPU. The others are priced by
the laws that those show, which are checked where a cell was run and left out of the law.

The package can be called: `breakeven.sweep(make_step, {"batch": [16, 64, 256]}, ["cpu", "t4"])`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class Reached(BaseException):
    """A script that is read for its function alone has come to where it asks for the sweep that reads it."""


#: Name of a script that is read for a function.
SCRIPT = "__breakeven_main__"


class _Callable(ModuleType):
    """A module that is also what its name says: the workflow above it is loaded when it is called."""

    def __call__(self, make_step: Any, grid: Any, devices: Any = ("cpu", "Tesla T4"), **options: Any) -> Any:
        """Sweeps a step that a function makes; see `breakeven.workflows.sweep_steps.sweep_steps`, whose types these are."""
        if SCRIPT in sys.modules:
            raise Reached
        return import_module("breakeven.workflows.sweep_steps").sweep_steps(make_step, grid, devices, **options)


sys.modules[__name__].__class__ = _Callable
