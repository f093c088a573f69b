"""Two arms timed in alternation: a block of steps each in turn, so that what the machine does otherwise falls on both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from breakeven.capture.proof.arms import Arm
from breakeven.capture.proof.messages import Command, Report
from breakeven.units import NS_PER_S

#: Seconds without one step having ended after which an arm is given up, at its start and later.
FIRST_STEP_S: Final = 240.0
PATIENCE_S: Final = 120.0
#: Length of a block: long against a switch between processes (a tenth of a millisecond), short against what a shared machine
#: does (seconds).
BLOCK_NS: Final = NS_PER_S // 10
WARM_NS: Final = 3 * NS_PER_S // 10
MOST_WARM: Final = 50
#: Pairs of blocks that are enough, and the fewest that give an interval (`stats.estimate.FEW`).
ENOUGH: Final = 41
#: After a pause the first steps of a block find cold caches; they are run and not counted.
SETTLE: Final = 1


@dataclass
class Timed:
    """What the alternation gave, pair by pair, in ns: mean step of each block, and its processor time."""

    pairs: list[tuple[float, float]] = field(default_factory=list)
    cpu_pairs: list[tuple[float, float]] = field(default_factory=list)
    block: int = 1
    ended: Report | None = None


def warmed(arms: Sequence[Arm]) -> tuple[list[float], Report | None]:
    """Run both warm, in step; the step of each in ns, and the last word of one that ended."""
    lengths: list[list[int]] = [[] for _ in arms]
    for arm in arms:  # everything up to the end of a first step
        arm.tell(Command(1))
    count, spent = 1, 0
    for number, report in enumerate([arm.hear(FIRST_STEP_S) for arm in arms]):
        lengths[number] = list(report.ns)
        if report.end is not None:
            return [_middle(found) for found in lengths], report
    while count <= MOST_WARM and spent < WARM_NS:
        for arm in arms:
            arm.tell(Command(count))
            report = arm.hear(PATIENCE_S)
            lengths[arms.index(arm)] = list(report.ns) or lengths[arms.index(arm)]
            if report.end is not None:
                return [_middle(found) for found in lengths], report
        spent += max(sum(found) for found in lengths)
        count *= 2
    return [_middle(found) for found in lengths], None


def alternated(arms: Sequence[Arm], step_ns: float, seconds: float) -> Timed:
    """Blocks in turn, the order reversed from pair to pair, until there are enough or the time is up.

    Args:
        arms: both, warm, having made as many steps.
        step_ns: about what a step takes.
        seconds: most time.
    """
    block = max(1, round(BLOCK_NS / max(step_ns, 1.0)))
    timed = Timed(block=block)
    until = time.monotonic() + seconds
    while len(timed.pairs) < ENOUGH and time.monotonic() < until:
        means: dict[int, tuple[float, float]] = {}
        order = (0, 1) if len(timed.pairs) % 2 == 0 else (1, 0)
        for which in order:
            arms[which].tell(Command(block + SETTLE))
            report = arms[which].hear(PATIENCE_S)
            counted = report.ns[SETTLE:]
            if report.end is not None:
                timed.ended = report
            if len(counted) >= max(1, block // 2):
                means[which] = sum(counted) / len(counted), sum(report.cpu_ns[SETTLE:]) / len(counted)
        if len(means) == 2:
            timed.pairs.append((means[0][0], means[1][0]))
            timed.cpu_pairs.append((means[0][1], means[1][1]))
        if timed.ended is not None:
            break
    return timed


def _middle(lengths: Sequence[int]) -> float:
    return statistics.median(lengths) if lengths else 0.0
