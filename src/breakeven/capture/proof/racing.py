"""A race: both versions train for the same time, in turns, and whose loss is lower at the end has won.

For remedies that change the mathematics (batch, precision), where equal numbers are not to be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.capture.proof import alternation
from breakeven.capture.proof.arms import Arm
from breakeven.capture.proof.messages import Command, Report
from breakeven.results import Interval
from breakeven.results.proof import Race
from breakeven.stats.estimate import FEW, LEVEL
from breakeven.units import NS_PER_S

#: Blocks that each arm's time is divided into.
BLOCKS: Final = 20
#: Part of the time, at its end, whose losses are compared.
END: Final = 0.25
_DRAWS: Final = 2000


def raced(arms: Sequence[Arm], seconds: float) -> Race | Report:
    """Race two arms.

    Args:
        arms: both, just started.
        seconds: time that each trains.

    Returns:
        The race; where one ended too soon for it, its last word.
    """
    budget = seconds * NS_PER_S
    lengths: list[list[int]] = [[], []]
    losses: list[list[float]] = [[], []]
    blocks = [1, 1]
    while any(sum(found) < budget for found in lengths):
        which = 0 if sum(lengths[0]) <= sum(lengths[1]) else 1
        arms[which].tell(Command(blocks[which], losses=True))
        report = arms[which].hear(alternation.FIRST_STEP_S)
        lengths[which] += report.ns
        losses[which] += report.losses
        if report.end is not None:
            budget = min(budget, float(sum(lengths[which])))  # the other one gets as much time as this one took
            if len(lengths[which]) < 4 * FEW or report.end not in ("ok", "exit"):
                return report
            arms[which].ended = report
            if sum(lengths[1 - which]) >= budget:
                break
            continue
        mean = sum(lengths[which]) / max(1, len(lengths[which]))
        blocks[which] = max(1, round(budget / BLOCKS / max(mean, 1.0)))
    ends = [_end(np.array(at), np.array(lost), budget) for at, lost in zip(lengths, losses, strict=True)]
    before, after = (_mean(found) for found in ends)
    return Race(budget / NS_PER_S, before, after, (len(lengths[0]), len(lengths[1])), after.mid <= before.mid)


def _end(length: NDArray[np.float64], losses: NDArray[np.float64], budget: float) -> NDArray[np.float64]:
    """Losses of the last part of the time; with several losses a step they are taken as they come."""
    if not len(losses):
        return losses
    at = np.cumsum(length)[np.minimum(np.arange(len(losses)) * len(length) // len(losses), len(length) - 1)]
    found = losses[(at >= (1 - END) * budget) & (at <= budget)]
    return found if len(found) else losses[-1:]


def _mean(losses: NDArray[np.float64]) -> Interval:
    """The mean with its 90 % interval by resampling."""
    if not len(losses):
        return Interval(float("inf"), float("inf"), float("inf"))
    draws = np.random.default_rng(0).choice(losses, (_DRAWS, len(losses))).mean(axis=1) if len(losses) <= 2000 else None
    if draws is None:
        half = 1.645 * float(losses.std()) / len(losses) ** 0.5
        return Interval(float(losses.mean()) - half, float(losses.mean()), float(losses.mean()) + half)
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(losses.mean()), float(high))
