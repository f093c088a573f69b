"""`race`: the same training for the same time on each device, in turns; iterations, and the loss that they bought."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from breakeven import __version__
from breakeven.capture import target
from breakeven.capture.proof.arms import Version, running
from breakeven.capture.proof.field import Course, run_field
from breakeven.capture.request import CaptureRequest
from breakeven.errors import NoAnswer, ScriptFailed
from breakeven.measure.known import split_name
from breakeven.measure.present import SYNCHRONISE
from breakeven.results.race import Racer, RaceReport
from breakeven.results.records import Interval
from breakeven.units import NS_PER_S

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
    """

    script: str
    seconds: float
    devices: tuple[str, ...] = ("cpu",)
    args: tuple[str, ...] = ()
    mark: str | None = None
    loss: float | None = None


def race(request: RaceRequest, on_progress: Callable[[str], None] = lambda text: None) -> RaceReport:
    """Race the devices against each other.

    Raises:
        InputError: there is no such script or device.
        ScriptFailed: the script failed on every device.
        NoAnswer: no training step ended.
    """
    asked = CaptureRequest(request.script, request.args, mark=request.mark)
    found = target.resolve(asked)
    file = os.path.abspath(found.file) if found.file is not None else found.name
    asked = replace(asked, target=found.name, cwd=os.getcwd())
    versions = []
    for device in request.devices:
        here = split_name(device)[0] == "cpu"
        own = asked if here else replace(asked, synchronise=SYNCHRONISE)
        versions.append(Version(own, found.module, file, None, here))

    def tell(courses: Sequence[Course]) -> None:
        on_progress("racing: " + ", ".join(_progress(d, c) for d, c in zip(request.devices, courses, strict=True)))

    with running(tuple(versions)) as arms:
        courses = run_field(arms, request.seconds, tell)
    if not any(course.ns for course in courses):
        failed = next((course.error for course in courses if course.error), None)
        if failed:
            raise ScriptFailed(f"the script failed before a step had ended: {failed}")
        raise NoAnswer("no training step ended: without an optimizer's step or a backward pass there is nothing to race")
    return judged(request, courses)


def judged(request: RaceRequest, courses: Sequence[Course]) -> RaceReport:
    """What the courses come to. Pure."""
    racers = [_racer(device, course) for device, course in zip(request.devices, courses, strict=True)]
    ends = [racer.end_loss.mid for racer in racers if racer.end_loss is not None]
    goal = request.loss if request.loss is not None else max(ends, default=None)
    racers = [replace(racer, reached_s=_reached(racer, goal)) for racer in racers]
    versions = {"breakeven": __version__}
    return RaceReport(request.script, request.seconds, tuple(racers), goal, _sentence(racers, goal), versions=versions)


def _racer(device: str, course: Course) -> Racer:
    seconds = sum(course.ns) / NS_PER_S
    if not course.losses or not course.ns:
        return Racer(device, len(course.ns), seconds, error=course.error)
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
        said = f"{there[0].device} reached a loss of {goal:.4g} first, after {there[0].reached_s:.3g} s of training"
        said += f"; {there[1].device} took {there[1].reached_s:.3g} s." if len(there) > 1 else "."
    most = max(ran, key=lambda r: r.iterations / max(r.seconds, 1e-9))
    for other in ran:
        if other is most or most.end_loss is None or other.end_loss is None:
            continue
        if most.end_loss.low > other.end_loss.high:
            said += f" {most.device} made more iterations, and they bought no loss: {other.device} ended lower."
    return said


def _progress(device: str, course: Course) -> str:
    loss = f", loss {course.losses[-1]:.4g}" if course.losses else ""
    return f"{device} {len(course.ns)} steps in {sum(course.ns) / NS_PER_S:.1f} s{loss}"
