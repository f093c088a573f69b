"""`breakeven time TARGET`: checks the call, times in a child process, shows and writes the answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from breakeven.cli.options import JSON_HELP, STDOUT, check_json, write_json
from breakeven.cli.progress import progress_on
from breakeven.errors import BreakevenError, InputError, Interrupted, MissingExtra, NoAnswer, ScriptFailed
from breakeven.measure.request import CODE, FUNCTION, JOB, JOB_NAMES, TimeRequest
from breakeven.results.timing import TimeReport

_KINDS = (InputError, MissingExtra, NoAnswer, ScriptFailed, Interrupted)


def command(
    target: Annotated[
        str | None,
        typer.Argument(metavar="TARGET", help=f"MODULE:FUNCTION, FILE.py:FUNCTION, or one of: {', '.join(JOB_NAMES)}."),
    ] = None,
    code: Annotated[
        str | None, typer.Option("-c", metavar="CODE", help="Time this code instead; `device` is its device.")
    ] = None,
    setup: Annotated[str, typer.Option("--setup", metavar="CODE", help="Code that runs once before that of -c.")] = "",
    device: Annotated[
        list[str] | None,
        typer.Option("--device", metavar="D", help="cpu, cuda, cuda:1, mps, xpu or gpu; repeat it: they take turns."),
    ] = None,
    size: Annotated[int | None, typer.Option("--size", metavar="N", help="Size of a built-in job.")] = None,
    dtype: Annotated[str, typer.Option("--dtype", metavar="TYPE", help="Type of a built-in job.")] = "float32",
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="Measure for at most so many seconds.")] = 10.0,
    precision: Annotated[
        float, typer.Option("--precision", metavar="P", help="Stop where the interval is within this many percent.")
    ] = 1.0,
    tune_cpu: Annotated[bool, typer.Option("--tune-cpu", help="Find the CPU's best settings, and prove them.")] = False,
    json: Annotated[str | None, typer.Option("--json", metavar="F", help=JSON_HELP)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> int:
    """Time a job, a function or code honestly: waited for, warmed up, with an interval, on devices that take turns."""
    request = _request(target, code, setup, device or [], tune_cpu)
    request = _with_numbers(request, size, dtype, seconds, precision)
    check_json(json)

    from breakeven.report.json import encode
    from breakeven.workflows.time import time_in_child

    try:
        with progress_on(sys.stderr, quiet, shared=False) as on_progress:
            report = time_in_child(request, on_progress)
    except KeyboardInterrupt:
        report = TimeReport(request.target, (), error="interrupted", failed=Interrupted.slug)
    write_json(json, encode(report))
    if json != STDOUT and report.timings:
        from breakeven.report.screen import show
        from breakeven.report.time import render_time

        show(lambda width, ascii_only: render_time(report, width, ascii_only), sys.stdout)
    if report.failed is not None:
        raise _error(report)
    return 0


def _error(report: TimeReport) -> BreakevenError:
    kind = next((kind for kind in _KINDS if kind.slug == report.failed), InputError)
    return kind(report.error or report.failed or "")


def _request(target: str | None, code: str | None, setup: str, devices: list[str], tune_cpu: bool) -> TimeRequest:
    if (target is None) == (code is None):
        raise InputError("name one thing to time: a job, MODULE:FUNCTION, or -c CODE (`breakeven time --help` lists the jobs)")
    if setup and code is None:
        raise InputError("--setup belongs to -c; a function of yours can make its own set-up")
    for name in devices:
        _check_device(name)
    if tune_cpu and any(name != "cpu" for name in devices):
        raise InputError("--tune-cpu tunes the CPU; leave --device out")
    names = tuple(devices) or ("cpu",)
    if code is not None:
        return TimeRequest(code, CODE, setup, names, tune_cpu=tune_cpu)
    assert target is not None  # one of the two is there
    if ":" in target:
        return TimeRequest(target, FUNCTION, devices=names, tune_cpu=tune_cpu)
    if target not in JOB_NAMES:
        import difflib

        near = difflib.get_close_matches(target, JOB_NAMES, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(JOB_NAMES)}"
        raise InputError(f"no job is called {target!r}; {hint} A function of yours is MODULE:FUNCTION")
    return TimeRequest(target, JOB, devices=names, tune_cpu=tune_cpu)


def _check_device(name: str) -> None:
    from breakeven.measure.known import split_name

    split_name(name)


def _with_numbers(request: TimeRequest, size: int | None, dtype: str, seconds: float, precision: float) -> TimeRequest:
    from dataclasses import replace
    from math import isfinite

    if size is not None and size < 1:
        raise InputError(f"--size {size}: a size is at least 1")
    if (size is not None or dtype != "float32") and request.kind != JOB:
        raise InputError("--size and --dtype belong to the built-in jobs; your own code has its own sizes")
    if not (isfinite(seconds) and seconds > 0):
        raise InputError(f"--seconds {seconds}: must be a positive number")
    if not (isfinite(precision) and 0 < precision <= 100):
        raise InputError(f"--precision {precision}: percent, above 0 and at most 100")
    return replace(request, size=size, dtype=dtype, seconds=seconds, precision=precision / 100)
