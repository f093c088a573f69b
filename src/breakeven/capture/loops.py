"""Which of the user's loops is the one that repeats the work, where no optimizer and no backward pass says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from breakeven.capture.marks import Loop
from breakeven.capture.series import Series

#: A loop of no more rounds than this, the same number each time, is a part of the round of the loop around it
#: (over layers, parameters or heads), where that one goes round at least `FEWEST_ROUNDS` times.
SHORT_LOOP: Final = 32
FEWEST_ROUNDS: Final = 3


@dataclass
class LoopWatch:
    """What is known of one loop.

    Attributes:
        loop: where it is.
        series: its rounds, head to head (or to its exit).
        around: the user's loops that it runs inside, innermost first, across calls; None: not looked at yet.
        inside_library: it runs inside a module's call, a data set or a loader, so it is a part of a step and not one.
        operations: tensor operations seen in the rounds that were looked at, outside inner loops.
        rounds: length of each entry, in rounds.
    """

    loop: Loop
    series: Series
    around: tuple[int, ...] | None = None
    inside_library: bool = False
    operations: int = 0
    hits: int = 0
    rounds: list[int] = field(default_factory=list)
    running: int = 0
    first_ns: int = 0


def principal(watches: Sequence[LoopWatch]) -> LoopWatch | None:
    """The innermost loop that repeats device work, with most time; None: no loop does.

    A short loop of fixed length inside a longer-running one (over the layers of a hand-made network) is not a repetition of
    the work but a part of it; then the loop around it is taken.
    """
    by_number = {w.loop.number: w for w in watches}
    working = [w for w in watches if w.operations and not w.inside_library and (w.series.samples or w.hits)]
    chosen = [_outwards(w, by_number) for w in working]
    inner = [w for w in chosen if not any(w.loop.number in (o.around or ()) and _as_long(o, w) for o in chosen if o is not w)]
    return max(inner, key=time_in, default=None)


def time_in(watch: LoopWatch) -> int:
    """Time in all complete rounds."""
    return sum(watch.series.samples)


def _as_long(inner: LoopWatch, outer: LoopWatch) -> bool:
    """Whether most of the outer loop's time is the inner loop's."""
    return 2 * time_in(inner) >= time_in(outer)


def _outwards(watch: LoopWatch, by_number: dict[int, LoopWatch]) -> LoopWatch:
    for number in watch.around or ():
        outer = by_number.get(number)
        lengths = set(watch.rounds)
        if outer is None or outer.inside_library or outer.hits < FEWEST_ROUNDS:
            break
        if len(lengths) != 1 or max(lengths) > SHORT_LOOP or len(watch.rounds) < FEWEST_ROUNDS - 1:
            break
        watch = outer
    return watch
