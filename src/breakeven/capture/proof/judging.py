"""From what two arms showed to a judgement: is the promise kept, and is the change kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from breakeven.results.proof import Difference, Equality, Proof

#: What a speed-up has to exceed with its whole interval, by however little.
SAME_SPEED: Final = 1.0


def equality_of(
    promise: str, tolerance: float | None, steps: int, found: Sequence[Difference], own: Sequence[Difference] | None
) -> Equality:
    """Whether a promise is kept.

    Args:
        promise: bitwise or tolerance.
        tolerance: greatest relative difference.
        steps: steps compared one by one.
        found: differences between before and after.
        own: differences of the unchanged script from itself; None: not looked at.
    """
    repeats = None if own is None else all(d.bitwise for d in own)
    if not found:
        return Equality(promise, tolerance, steps, (), repeats, False, "There were no losses to compare.")
    limit = 0.0 if promise == "bitwise" else tolerance or 0.0
    allowed = {d.what: limit for d in found}
    if repeats is False and own is not None:  # a change cannot repeat better than the script itself does
        for d in own:
            allowed[d.what] = max(limit, 2 * (d.largest or 0.0))
    holds = all(d.bitwise or _within(d, allowed[d.what]) for d in found)
    return Equality(promise, tolerance, steps, tuple(found), repeats, holds, _sentence(found, steps, limit, holds, repeats))


def judged(proof: Proof, equality: Equality, faster: bool) -> Proof:
    """The proof with its equality and the judgement on it."""
    proof = replace(proof, equality=equality)
    if not equality.holds:
        return replace(proof, kept=False, reason="it does not compute the same")
    if proof.speedup is None:
        return replace(proof, kept=not faster)
    busy = proof.cpu_speedup
    gains = proof.speedup.low > SAME_SPEED or (busy is not None and busy.low > SAME_SPEED and proof.speedup.mid > SAME_SPEED)
    if gains or not faster:
        where = "" if gains else "; its speed here decides nothing for another device"
        return replace(proof, kept=True, reason=f"it computes the same{' and is faster' if gains else where}")
    slower = proof.speedup.high < SAME_SPEED
    return replace(proof, kept=False, reason="it is slower" if slower else "it is not measurably faster")


def _within(difference: Difference, limit: float) -> bool:
    """Whether it lies within a limit. What is laid out differently cannot be compared: the losses then speak alone."""
    if difference.largest is None:
        return difference.what != "losses"
    return difference.largest <= limit


def _sentence(found: Sequence[Difference], steps: int, limit: float, holds: bool, repeats: bool | None) -> str:
    names = [d.what for d in found]
    what = " and ".join(", ".join(names).rsplit(", ", 1))
    if all(d.bitwise for d in found):
        return f"{what.capitalize()} of {steps} steps are the same to the last bit."
    worst = max((d.largest for d in found if d.largest is not None), default=None)
    blind = [d.what for d in found if d.largest is None]
    what = " and ".join(", ".join(n for n in names if n not in blind).rsplit(", ", 1))
    apart = "" if worst is None else f"differ by at most {worst:.1e} of their size over the first steps"
    laid = f"{' and '.join(blind)} are laid out differently and could not be compared" if blind else ""
    unsteady = " (the unchanged script does not repeat its own bits either)" if repeats is False else ""
    said = "; ".join(part for part in (apart and f"{what} {apart}", laid) if part)
    over = "" if holds else f", where {limit:.0e} is allowed" if limit else ", where none is promised"
    return f"{said[:1].upper()}{said[1:]}{over}{unsteady}."
