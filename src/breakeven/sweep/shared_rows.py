"""What several steps have in common: operations that all of them issue, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

Step = tuple[int, ...]

#: A step that has less of itself in common with the others than this is another step.
LEAST_SHARED: Final = 0.25
#: Steps of more operations than this are only taken where they are equal: looking for what they share would take seconds.
MOST_ROWS: Final = 4000


def common(steps: Sequence[Step]) -> Step | None:
    """The operations that all steps issue in one order; None: that is too little of the longest of them.

    >>> common([(1, 2, 3, 4), (1, 2, 9, 3, 4), (1, 3, 4)])
    (1, 3, 4)
    """
    if not steps:
        return None
    distinct = sorted(set(steps), key=lambda step: (len(step), step))
    longest = len(distinct[-1])
    if longest > MOST_ROWS and len(distinct) > 1:
        return None
    shared = distinct[0]
    for step in distinct[1:]:
        shared = tuple(shared[a] for a, _ in _pairs(shared, step))
        if len(shared) < LEAST_SHARED * longest:
            return None
    return shared


def where(shared: Step, step: Step) -> list[int]:
    """Where the shared operations stand in a step that holds them all, in long stretches where that can be.

    >>> where((1, 3, 4), (1, 2, 9, 3, 4))
    [0, 3, 4]
    """
    found = [b for _, b in _pairs(shared, step)]
    return found if len(found) == len(shared) else _first(shared, step)


def _pairs(one: Step, other: Step) -> list[tuple[int, int]]:
    """Positions of equal operations in both, the longest stretches first, rising in both."""
    if one == other:
        return [(n, n) for n in range(len(one))]
    blocks = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return [(a + n, b + n) for a, b, size in blocks for n in range(size)]


def _first(shared: Step, step: Step) -> list[int]:
    """The earliest place of each, one after the other."""
    found, at = [], 0
    for operation in shared:
        at = step.index(operation, at)
        found.append(at)
        at += 1
    return found
