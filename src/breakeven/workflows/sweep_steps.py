"""`breakeven.sweep(make_step, grid, devices)`: a sweep from Python, of a step that a function makes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from breakeven.errors import InputError
from breakeven.machine.gpus import find_gpu
from breakeven.results.swept import SweepReport, Value
from breakeven.sweep.grid import Axis, spanned
from breakeven.sweep.names.found import Found, Kind
from breakeven.workflows.sweep import SweepRequest, sweep_of

RUNNER = "breakeven.sweep.step_runner"


def sweep_steps(
    make_step: Callable[..., Callable[[], Any]], grid: Mapping[str, Sequence[Value]],
    devices: Sequence[str] = ("cpu", "Tesla T4"), *, host: str | None = None, engine: str = "local",
    address: str | None = None, out: str | None = None,
    resume: bool = False, measure: int | None = None, seconds: float | None = None, epoch: int | None = None,
) -> SweepReport:  # fmt: skip
    """Say from which size on which device wins, for a training step made by a function.

    Args:
        make_step: called with one value for each name of the grid in a process of its own; returns a function that does one
            training step. It must stand at the top of a module or script, so that it can be found there.
        grid: values of each parameter.
        devices: `cpu`, which is measured here, and GPUs of the catalog, which are predicted.
        host: the machine that the GPUs sit in; None: this one.
        engine: local or ray.
        address: of a Ray cluster.
        out: folder or URL to keep the run in.
        resume: go on with the run in `out`.
        measure: cells to run; the others are priced.
        seconds: longest time to time a cell.
        epoch: samples of an epoch, to price one.

    Raises:
        InputError: something asked for does not exist, or `make_step` cannot be found by its name.
    """
    where, folder = _place(make_step)
    if not grid:
        raise InputError("nothing to vary: give a grid such as {'batch': [16, 64, 256]}")
    axes = spanned([_axis(name, values) for name, values in grid.items()])
    _check_names(make_step, list(grid))
    gpus = tuple(name for name in devices if name.lower() != "cpu")
    for name in gpus:
        find_gpu(name)
    bound = tuple(Found(Kind.KEY, name, inspect.getfile(make_step), 1) for name in grid)
    request = SweepRequest(
        RUNNER, (), (where, folder), gpus, host, seconds=seconds, engine=engine, address=address, out=out, resume=resume,
        measure=measure, epoch=epoch,
    )  # fmt: skip
    return sweep_of(request, axes, bound, f"{where.rpartition('/')[2]}")


def _axis(name: str, values: Sequence[Value]) -> Axis:
    if isinstance(values, (str, bytes)) or not len(values):
        raise InputError(f"grid[{name!r}]: give a list of values")
    once = list(dict.fromkeys(values))
    numbers = [v for v in once if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return Axis(name, tuple(sorted(numbers)) if len(numbers) == len(once) else tuple(once))


def _place(make_step: Callable[..., Any]) -> tuple[str, str]:
    """`MODULE:FUNCTION` or `FILE.py:FUNCTION`, and the folder to import it from."""
    name, module = getattr(make_step, "__qualname__", ""), getattr(make_step, "__module__", "")
    if not name or not name.isidentifier() or name == "<lambda>":
        raise InputError("make_step must be a function at the top of a module: a cell runs it in a process of its own")
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        raise InputError("make_step must stand in a file: a cell runs it in a process of its own")
    path = Path(file).resolve()
    if module == "__main__":
        return f"{path}:{name}", str(path.parent)
    folder = path.parents[module.count(".") + (path.name == "__init__.py")]
    return f"{module}:{name}", str(folder)


def _check_names(make_step: Callable[..., Any], names: Sequence[str]) -> None:
    parameters = inspect.signature(make_step).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    wrong = [name for name in names if name not in parameters]
    if wrong:
        raise InputError(f"make_step takes no {wrong[0]!r}; it takes {', '.join(parameters) or 'nothing'}")
