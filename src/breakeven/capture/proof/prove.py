"""Proves a change of a script: same numbers, and how much faster, from children that run it before and after in alternation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.capture import target
from breakeven.capture.proof import alternation
from breakeven.capture.proof.arms import Arm, Version, running
from breakeven.capture.proof.equality import FIRST_STEPS, differences
from breakeven.capture.proof.judging import equality_of, judged
from breakeven.capture.proof.messages import Command, Report
from breakeven.capture.proof.racing import raced
from breakeven.capture.request import CaptureRequest
from breakeven.errors import NoAnswer, ScriptFailed
from breakeven.results import Interval
from breakeven.results.proof import Difference, Equality, Proof, Race
from breakeven.stats import estimate
from breakeven.stats.estimate import FEW
from breakeven.units import NS_PER_MS, NS_PER_S

#: Steps whose numbers are compared one by one, from the first.
COMPARED: Final = 20
#: Seconds of alternation, over all of its rounds; and how often short scripts are started again for more steps.
SECONDS: Final = 12.0
MOST_ROUNDS: Final = 6
#: Seconds of steps from which an optimizer's share is taken.
SHARE_S: Final = 1.0


@dataclass(frozen=True)
class Claim:
    """What is to be proven.

    Attributes:
        request: how the script is called.
        before: its text as it was; None: as it is on the disk.
        after: its changed text.
        promise: bitwise, tolerance or changes_mathematics.
        tolerance: the greatest relative difference, where the promise is a tolerance.
        seconds: most time for the alternation (of a race: for each arm).
        faster: kept only where it is faster; False: where it computes the same, its speed here decides nothing.
    """

    request: CaptureRequest
    before: str | None
    after: str
    promise: str = "bitwise"
    tolerance: float | None = None
    seconds: float = SECONDS
    faster: bool = True


@dataclass
class _Seen:
    """What the rounds gave so far."""

    pairs: list[tuple[float, float]]
    cpu_pairs: list[tuple[float, float]]
    block: int = 1
    compared: int = 0
    differences: tuple[Difference, ...] = ()


def prove(claim: Claim) -> Proof:
    """Run the script before and after, side by side.

    Raises:
        InputError: there is no such script, or it cannot be run as asked.
        ScriptFailed: the unchanged script failed before anything could be compared.
        NoAnswer: no training step ended.
    """
    before, after = versions(claim)
    if claim.promise == "changes_mathematics":
        return _race(claim, before, after)
    seen = _Seen([], [])
    for number in range(MOST_ROUNDS):
        reason = _round(claim, (before, after), seen, number == 0)
        if reason is not None:
            return _failed(reason)
        if len(seen.pairs) >= FEW or not seen.compared:
            break
    equality = _equality(claim, before, seen)
    return judged(_timed(seen), equality, claim.faster)


def optimizer_share(request: CaptureRequest, seconds: float = SHARE_S) -> float | None:
    """The part of a step that optimizers' steps take on the CPU; None: no step ended, or there is no optimizer.

    Raises:
        InputError: as in `prove`.
    """
    version, _ = versions(Claim(request, None, ""))
    with running((version,)) as arms:
        lengths, ended = alternation.warmed(arms)
        if ended is not None or not lengths[0]:
            return None
        arms[0].tell(Command(max(FEW, round(seconds * NS_PER_S / lengths[0])), optimizers=True))
        report = arms[0].hear(alternation.PATIENCE_S)
    if not report.optimizer_ns or len(report.ns) < FEW:
        return None
    per_step = len(report.optimizer_ns) / len(report.ns)
    return float(np.median(report.optimizer_ns) * per_step / np.median(report.cpu_ns))


def versions(claim: Claim) -> tuple[Version, Version]:
    """Both versions of the script, checked.

    Raises:
        InputError: as in `prove`.
    """
    found = target.resolve(claim.request)
    request = replace(claim.request, target=found.name, cwd=claim.request.cwd or os.getcwd())
    file = os.path.abspath(found.file) if found.file is not None else found.name
    return Version(request, found.module, file, claim.before), Version(request, found.module, file, claim.after)


def _round(claim: Claim, both: tuple[Version, Version], seen: _Seen, first: bool) -> str | None:
    """One pair of children from start to end; why the changed one failed, or None."""
    with running(both) as arms:
        steps, ended = _compared(arms, COMPARED if first else 1)
        if ended is not None and (failure := _failure(arms, steps)) is not None:
            return failure
        if first:
            seen.compared = steps
        numbers = list(range(1, steps + 1))
        if ended is None:
            lengths, ended = alternation.warmed(arms)
            if ended is None:
                timed = alternation.alternated(arms, max(lengths), claim.seconds)
                seen.pairs += timed.pairs
                seen.cpu_pairs += timed.cpu_pairs
                seen.block, ended = timed.block, timed.ended
        if ended is None and first:
            numbers += _last(arms)
        if ended is not None and (failure := _failure(arms, steps)) is not None:
            return failure
        if first:
            seen.differences = differences(arms[0].folder, arms[1].folder, numbers)
    return None


def _compared(arms: Sequence[Arm], most: int) -> tuple[int, Report | None]:
    """Run the first steps of both with their numbers written down: how many both made, and the last word of one that ended."""
    for arm in arms:
        arm.tell(Command(most, compare=True))
    reports = [arm.hear(alternation.FIRST_STEP_S) for arm in arms]
    ended = next((r for r in reports if r.end is not None), None)
    return min(r.step for r in reports), ended


def _last(arms: Sequence[Arm]) -> list[int]:
    """One more compared step after the timed ones."""
    for arm in arms:
        arm.tell(Command(1, compare=True))
    reports = [arm.hear(alternation.PATIENCE_S) for arm in arms]
    steps = {r.step for r in reports if r.end is None}
    return list(steps) if len(steps) == 1 else []


def _failure(arms: Sequence[Arm], steps: int) -> str | None:
    """Why the changed arm failed where the other did not; None: neither did.

    Raises:
        ScriptFailed, NoAnswer: the unchanged one is to blame.
    """
    before, after = (arm.ended for arm in arms)
    if not steps and any(arm is not None and arm.end == "timeout" for arm in (before, after)):
        raise NoAnswer(
            f"no training step ended within {alternation.FIRST_STEP_S:.0f} s: the machine is busy, or the steps are long"
        )
    if before is not None and before.end not in ("ok", "exit") and not steps:
        raise ScriptFailed(f"the script failed before its first steps could be compared: {before.text}")
    if after is not None and after.end not in ("ok", "exit") and (before is None or before.end in ("ok", "exit")):
        return f"the changed script failed: {after.text}"
    if not steps:
        raise NoAnswer("no training step ended: without an optimizer's step or a backward pass there is nothing to compare")
    return None


def _equality(claim: Claim, before: Version, seen: _Seen) -> Equality:
    """Whether the promise is kept; where it is not, the unchanged script is run twice to see whether it keeps it itself."""
    equality = equality_of(claim.promise, claim.tolerance, seen.compared, seen.differences, None)
    if equality.holds:
        return equality
    with running((before, before)) as arms:
        steps, _ = _compared(arms, min(FIRST_STEPS, max(1, seen.compared)))
        own = differences(arms[0].folder, arms[1].folder, range(1, steps + 1))
    return equality_of(claim.promise, claim.tolerance, seen.compared, seen.differences, own)


def _timed(seen: _Seen) -> Proof:
    """The speed of both, from the pairs."""
    if len(seen.pairs) < FEW:
        few = "too few steps ended to say how fast it is"
        return Proof("cpu", None, None, None, len(seen.pairs), seen.block, None, None, False, few)
    times = np.array(seen.pairs)
    before, after = (_interval(times[:, k] / NS_PER_MS) for k in (0, 1))
    cpu = np.array(seen.cpu_pairs)
    busy = _interval(cpu[:, 0] / cpu[:, 1]) if (cpu > 0).all() else None
    return Proof("cpu", _interval(times[:, 0] / times[:, 1]), before, after, len(times), seen.block, None, None, False, "", busy)


def _interval(samples: NDArray[np.float64]) -> Interval:
    found = estimate(samples, skip_warmup=False)
    return Interval(found.low, found.mid, found.high)


def _race(claim: Claim, before: Version, after: Version) -> Proof:
    with running((before, after)) as arms:
        found = raced(arms, claim.seconds)
        if isinstance(found, Race):
            reason = "its loss after the same time is not higher" if found.won else "its loss after the same time is higher"
            return Proof("cpu", None, None, None, 0, 0, None, found, found.won, reason)
        failure = _failure(arms, 0 if found.step == 0 else 1)
        return _failed(failure or "too few steps ended for a race")


def _failed(reason: str) -> Proof:
    return Proof("cpu", None, None, None, 0, 0, None, None, False, reason)
