"""A job: a script with its parameters bound, whose cells can be timed and recorded. It pickles, so any engine can run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from breakeven.capture.request import CPU, VIRTUAL, CaptureRequest, Substitution, TimedPass
from breakeven.capture.result import VirtualPass
from breakeven.capture.run import capture
from breakeven.capture.starting import Starter
from breakeven.errors import BreakevenError
from breakeven.measure.disturbance import Load, load, now
from breakeven.sweep.names import Found
from breakeven.sweep.names.found import Kind, Value

#: Threads of a recording: there is one for each core, and threads that wait for each other's cores make all of them slow.
THREADS: Final = 1


@dataclass(frozen=True)
class Timed:
    """What timing a cell brought.

    Attributes:
        timed: the pass; None: it failed before anything ended.
        load: what else the machine did meanwhile; None: not known.
        error: why there is no time, in one line; None: there is one.
    """

    timed: TimedPass | None
    load: Load | None
    error: str | None = None


@dataclass(frozen=True)
class Recorded:
    """What recording a cell brought."""

    virtual: VirtualPass | None
    error: str | None = None


@dataclass(frozen=True)
class Job:
    """One script and the places of its parameters.

    Attributes:
        request: how it is run; arguments and substitutions of a cell are added.
        bound: where each parameter's value goes, in the order of the grid's axes.
        starter: how its processes are started; None: each as a new one.
    """

    request: CaptureRequest
    bound: tuple[Found, ...]
    starter: Starter | None = None

    def of_cell(self, cell: Sequence[Value], passes: tuple[str, ...]) -> CaptureRequest:
        """The request with a cell's values in their places."""
        args, values = list(self.request.args), list(self.request.substitutions)
        for found, value in zip(self.bound, cell, strict=True):
            if found.kind == Kind.OPTION:
                args += [f"{found.name}={value}"] if found.name.startswith("--") else [found.name, str(value)]
            elif found.kind == Kind.KEY:
                args = [a for a in args if a.partition("=")[0].lstrip("+") != found.name] + [f"{found.name}={value}"]
            else:
                values += [Substitution(s.file, s.line, s.column, s.end_line, s.end_column, value) for s in found.spans]
        return replace(self.request, args=tuple(args), substitutions=tuple(values), passes=passes, show_output=False)


def time_cell(job: Job, cell: tuple[Value, ...]) -> Timed:
    """Times one cell on this machine's CPU, undisturbed as far as others let it."""
    before = now()
    try:
        caught = capture(job.of_cell(cell, (CPU,)), starter=job.starter)
    except BreakevenError as error:
        return Timed(None, None, str(error))
    beside = load(before, now(), caught.beside_s)
    failed = caught.error()
    nothing = caught.cpu is None or caught.cpu.principal is None
    return Timed(None if nothing else caught.cpu, beside, str(failed) if failed and nothing else None)


def record_cell(job: Job, cell: tuple[Value, ...], timed: TimedPass | None) -> Recorded:
    """Records one cell on the virtual GPU: the steps that its timing pass found."""
    try:
        caught = capture(replace(job.of_cell(cell, (VIRTUAL,)), threads=THREADS), timed=timed, starter=job.starter)
    except BreakevenError as error:
        return Recorded(None, str(error))
    failed = caught.error()
    empty = caught.virtual is None or caught.virtual.stream is None or not len(caught.virtual.stream)
    return Recorded(None if empty else caught.virtual, str(failed or "nothing was recorded") if empty else None)
