"""Any number of arms that train for the same time each, in turns; every step's length and loss is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from breakeven.capture.proof import alternation
from breakeven.capture.proof.arms import Arm
from breakeven.capture.proof.messages import Command
from breakeven.units import NS_PER_S

#: Blocks that each arm's time is divided into.
_BLOCKS: Final = 40


@dataclass
class Course:
    """One arm's training: length of each step in ns, and the losses as they came; its first step is set-up and left out.

    `batch`: samples of a step; None: not known.
    """

    ns: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    error: str | None = None
    set_up_ns: int | None = None
    over: bool = False
    batch: int | None = None


def run_field(arms: Sequence[Arm], seconds: float, on_progress: Callable[[Sequence[Course]], None]) -> tuple[Course, ...]:
    """Let all train until each has had its time, or has ended; the one that has had least goes next.

    Args:
        arms: just started.
        seconds: training time of each.
        on_progress: told all courses after each block.
    """
    budget = seconds * NS_PER_S
    courses = tuple(Course() for _ in arms)
    while waiting := [at for at, course in enumerate(courses) if not course.over]:
        which = min(waiting, key=lambda at: sum(courses[at].ns))
        course = courses[which]
        spent = sum(course.ns)
        usual = spent / len(course.ns) if course.ns else 0.0
        block = max(1, round(min(budget / _BLOCKS, budget - spent) / usual)) if usual else 1
        arms[which].tell(Command(block, losses=True))
        report = arms[which].hear(alternation.FIRST_STEP_S)
        course.batch = report.batch or course.batch
        if course.set_up_ns is None and report.end is None:
            course.set_up_ns = sum(report.ns)
            continue
        course.ns += report.ns
        course.losses += report.losses
        if report.end is not None:
            course.over = True
            course.error = None if report.end in ("ok", "exit") else report.text or report.end
        elif sum(course.ns) >= budget:
            course.over = True
        on_progress(courses)
    return courses
