"""From what the user named to something that can be run many times: a built-in job, a function, or code. Child process only."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from breakeven.errors import InputError, MissingExtra
from breakeven.measure.request import FUNCTION, JOB, TimeRequest

Run = Callable[[int], None]


@dataclass(frozen=True)
class Target:
    """A target made for one device.

    Attributes:
        run: does it so many times.
        call: does it once, where there is something to call (code has none).
        flops: as in `jobs.job.Job`, and so are the next three.
    """

    run: Run
    call: Callable[[], object] | None = None
    flops: float | None = None
    moved: float | None = None
    epoch: int | None = None
    images: bool = False


def make_target(request: TimeRequest, device: str, *, channels_last: bool = False) -> Target:
    """Make the target for a device. What the user's own code raises comes through.

    Raises:
        InputError: there is no such function, or it cannot be called so.
        MissingExtra: a built-in job without PyTorch.
    """
    if request.kind == JOB:
        return _job(request, device, channels_last)
    if request.kind == FUNCTION:
        return of_function(find_function(request.target), device, several=len(request.devices) > 1)
    return _code(request, device)


def repeated(call: Callable[[], object]) -> Run:
    """A call, so many times, with as little around it as Python can."""

    def run(times: int) -> None:
        for _ in repeat(None, times):
            call()

    return run


def of_function(function: Callable[..., object], device: str, *, several: bool = False) -> Target:
    """A user's function for a device.

    A parameter `device` is given the device; where the function then hands back something to call, that is what is timed, and
    the function itself was the set-up. Without such a parameter the function does the same on each device.

    Raises:
        InputError: it needs other arguments, or does not take a device and several are asked for.
    """
    on_device = takes_device(function)
    if not on_device and several:
        raise InputError("to be timed on several devices the function needs a parameter `device`")
    if not on_device:
        return Target(repeated(function), function)
    place: object = device
    if "torch" in sys.modules or importlib.util.find_spec("torch") is not None:
        import torch

        place = torch.device(device)
    made = function(device=place)
    if callable(made) and not _is_tensor_or_module(made):
        return Target(repeated(made), made)
    call = lambda: function(device=place)  # noqa: E731  # a closure with a name of its own
    return Target(repeated(call), call)


def find_function(text: str) -> Callable[..., object]:
    """The function that `MODULE:FUNCTION` or `FILE.py:FUNCTION` names.

    Raises:
        InputError: there is none.
    """
    where, _, name = text.rpartition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    found: Any = _module(where)  # a module, then whatever its attributes are
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"{where} has no {name!r}; name a function of it as {where}:FUNCTION")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{text} is a {type(found).__name__} and cannot be called")
    return found  # type: ignore[no-any-return]  # it is callable


def _module(where: str) -> Any:  # as `find_function`
    path = Path(where)
    if path.suffix == ".py":
        if not path.is_file():
            raise InputError(f"there is no file {where!r}")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise InputError(f"{where!r} cannot be imported")
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.resolve().parent))
        spec.loader.exec_module(module)
        return module
    try:
        return importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name and (where == error.name or where.startswith(error.name + ".")):
            raise InputError(f"there is no module {where!r} on the path or in this folder") from error
        raise


def takes_device(function: Callable[..., object]) -> bool:
    """Whether a function has a parameter `device`.

    Raises:
        InputError: it needs other arguments.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # built in: taken to need nothing
        return False
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) and p.name != "device"
    ]
    if needed:
        raise InputError(f"the function needs {', '.join(needed)}; wrap it into one that needs nothing, or only `device`")
    return any(p.name == "device" for p in parameters)


def _is_tensor_or_module(made: object) -> bool:
    """A module can be called, but a function that returns one has done its work."""
    return any(kind.__module__.partition(".")[0] == "torch" for kind in type(made).__mro__)


def _job(request: TimeRequest, device: str, channels_last: bool) -> Target:
    if importlib.util.find_spec("torch") is None:
        raise MissingExtra("the built-in jobs need PyTorch: pip install 'breakeven[torch]'")
    import torch

    from breakeven.measure.jobs import JOBS
    from breakeven.measure.jobs.job import Asked

    make, size, _ = JOBS[request.target]
    if not isinstance(getattr(torch, request.dtype, None), torch.dtype):
        raise InputError(f"--dtype {request.dtype}: PyTorch has no such type; float32, float64, float16, bfloat16 are usual")
    torch.manual_seed(0)
    job = make(Asked(device, request.size or size, request.dtype, channels_last))
    return Target(repeated(job.call), job.call, job.flops, job.moved, job.epoch, job.images)


def _code(request: TimeRequest, device: str) -> Target:
    """Code is put into the loop itself, as timeit does, so that no call is added to it."""
    names: dict[str, Any] = {"device": device, "_repeat": repeat, "__name__": "__breakeven_time__"}  # whatever the code makes
    if "torch" in request.setup + request.target:
        import torch

        names["torch"] = torch
    body = textwrap.indent(textwrap.dedent(request.target).strip("\n"), "        ")
    source = f"def _run(_times):\n    for _ in _repeat(None, _times):\n{body}\n"
    try:
        setup = compile(request.setup, "<setup>", "exec")
        loop = compile(source, "<code>", "exec")
    except SyntaxError as error:
        raise InputError(f"-c: {error.msg}: {(error.text or '').strip()!r}") from error
    exec(setup, names)
    exec(loop, names)
    return Target(names["_run"])
