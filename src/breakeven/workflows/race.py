"""`race`: the same training for the same time on each device or in each variant, in turns; what the iterations bought."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from breakeven import __version__
from breakeven.capture import target
from breakeven.capture.proof.arms import running
from breakeven.capture.proof.field import Course, run_field
from breakeven.capture.request import CaptureRequest
from breakeven.errors import NoAnswer, ScriptFailed
from breakeven.results.race import Racer, RaceReport
from breakeven.results.records import Interval
from breakeven.units import NS_PER_S
from breakeven.workflows.racers import entries

#: Points of a curve, and the part of the time at its end whose losses are compared (as `fix` does).
_POINTS: Final = 60
_END: Final = 0.25
_LEVEL: Final = 1.645  # of a 90 % interval, in standard errors


@dataclass(frozen=True)
class RaceRequest:
    """What is asked.

    Attributes:
        script: path of a script, or a module's dotted name.
        seconds: training time of each device.
        devices: names such as `cpu` and `cuda`.
        args: the script's own arguments.
        mark: `FILE:LINE` that runs once in each step; None: steps are found.
        loss: the loss to be reached; None: the highest of the ends.
        vary: `NAME=a,b,c`: each value of a parameter of the script races; None: nothing is varied.
        remedies: the script with them races the script as it is.
    """

    script: str
    seconds: float
    devices: tuple[str, ...] = ("cpu",)
    args: tuple[str, ...] = ()
    mark: str | None = None
    loss: float | None = None
    vary: str | None = None
    remedies: tuple[str, ...] = ()


def race(
    request: RaceRequest, on_progress: Callable[[str], None] = lambda text: None,
    on_report: Callable[[RaceReport], None] = lambda report: None,
) -> RaceReport:  # fmt: skip
    """Race devices, values of a parameter, or a script before and after remedies against each other.

    Args:
        request: what is asked.
        on_progress: told how far each is.
        on_report: given the answer so far, each time that one of them has had its turn.

    Raises:
        InputError: there is no such script, device, parameter or remedy.
        ScriptFailed: the script failed on every device.
        NoAnswer: no training step ended.
    """
    asked = CaptureRequest(request.script, request.args, mark=request.mark)
    found = target.resolve_own(asked)
    asked = replace(asked, target=found.name, cwd=os.getcwd())
    file = Path(os.path.abspath(found.file)) if found.file is not None else None
    racing = entries(asked, found.module, file, request.devices, request.vary, request.remedies)
    names = [(one.device, one.variant) for one in racing]

    def tell(courses: Sequence[Course]) -> None:
        on_progress("racing: " + ", ".join(_progress(n, c) for n, c in zip(names, courses, strict=True)))
        if any(course.losses for course in courses):
            on_report(judged(request, courses, names))

    with running(tuple(one.version for one in racing)) as arms:
        courses = run_field(arms, request.seconds, tell)
    if not any(course.ns for course in courses):
        failed = next((course.error for course in courses if course.error), None)
        if failed:
            raise ScriptFailed(f"the script failed before a step had ended: {failed}")
        raise NoAnswer("no training step ended: without an optimizer's step or a backward pass there is nothing to race")
    return judged(request, courses, names)


def judged(request: RaceRequest, courses: Sequence[Course], names: Sequence[tuple[str, str]] | None = None) -> RaceReport:
    """What the courses come to. Pure.

    Args:
        request: what was asked.
        courses: one for each that raced.
        names: device and variant of each; None: they are the devices asked for.
    """
    each = names if names is not None else [(device, "") for device in request.devices]
    racers = [_racer(name, course) for name, course in zip(each, courses, strict=True)]
    ends = [racer.end_loss.mid for racer in racers if racer.end_loss is not None]
    goal = request.loss if request.loss is not None else max(ends, default=None)
    racers = [replace(racer, reached_s=_reached(racer, goal)) for racer in racers]
    versions = {"breakeven": __version__}
    return RaceReport(request.script, request.seconds, tuple(racers), goal, _sentence(racers, goal), versions=versions)


def _racer(name: tuple[str, str], course: Course) -> Racer:
    device, variant = name
    samples = len(course.ns) * course.batch if course.batch else None
    seconds = sum(course.ns) / NS_PER_S
    if not course.losses or not course.ns:
        return Racer(device, len(course.ns), seconds, error=course.error, variant=variant, samples=samples)
    ends = np.cumsum(course.ns) / NS_PER_S
    losses = np.array(course.losses)
    at = ends[np.minimum(np.arange(len(losses)) * len(ends) // len(losses), len(ends) - 1)]
    parts = [part for part in np.array_split(np.arange(len(losses)), min(_POINTS, len(losses))) if len(part)]
    last = losses[at >= (1 - _END) * ends[-1]]
    half = _LEVEL * float(last.std()) / len(last) ** 0.5
    middle = float(last.mean())
    return Racer(
        device, len(course.ns), seconds, tuple(float(at[part[-1]]) for part in parts),
        tuple(float(losses[part].mean()) for part in parts), Interval(middle - half, middle, middle + half), None, course.error,
        variant, samples,
    )  # fmt: skip


def _reached(racer: Racer, goal: float | None) -> float | None:
    if goal is None:
        return None
    return next((at for at, loss in zip(racer.at_s, racer.loss, strict=True) if loss <= goal), None)


def _sentence(racers: Sequence[Racer], goal: float | None) -> str:
    ran = [racer for racer in racers if racer.iterations]
    there = sorted((r for r in ran if r.reached_s is not None), key=lambda r: r.reached_s or 0.0)
    if goal is None or not there:
        said = "No loss was seen to compare." if goal is None else f"None reached a loss of {goal:.4g}."
    else:
        said = f"{there[0].name} reached a loss of {goal:.4g} first, after {there[0].reached_s:.3g} s of training"
        said += f"; {there[1].name} took {there[1].reached_s:.3g} s." if len(there) > 1 else "."
    most = max(ran, key=lambda r: r.iterations / max(r.seconds, 1e-9))
    for other in ran:
        if other is most or most.end_loss is None or other.end_loss is None:
            continue
        if most.end_loss.low > other.end_loss.high:
            said += f" {most.name} made more iterations, and they bought no loss: {other.name} ended lower."
    return said


def _progress(name: tuple[str, str], course: Course) -> str:
    loss = f", loss {course.losses[-1]:.4g}" if course.losses else ""
    return f"{' '.join(name).strip()} {len(course.ns)} steps in {sum(course.ns) / NS_PER_S:.1f} s{loss}"
