"""Several ranks of one job: whether their work is even, and whether one of them keeps the others waiting.

What it does not know: clocks of different machines; only lengths are compared, never times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.wording import count, of_step
from breakeven.results.records import Finding, Interval

#: Ranks that must be seen.
_LEAST_RANKS: Final = 2
#: Part of the step that the others must wait for the slowest.
_LEAST_SHARE: Final = 0.05
#: A rank is the slow one where its own work exceeds the next one's by so much of what the ranks differ in.
_APART: Final = 0.5


def uneven_ranks(ranks: Sequence[tuple[int | None, TraceEvidence]]) -> Finding | None:
    """Ranks wait in collectives for the one that comes last.

    What it sees: the exposed time in collectives of each rank. Who waits least came last.
    Why it costs: a collective begins when its last rank is there; the others have nothing to do meanwhile.
    Evidence: the mean over the ranks of what each waits longer than the one that waits least.
    Example: tables of a recommender that are divided unevenly (v100_dlrm_8ranks.tar.gz).
    Remedy: divide the data or the model anew; look at the slow rank's host and loader.
    When it is wrong: ranks that have different parts in a pipeline wait by design.
    """
    known = [(rank, e) for rank, e in ranks if not e.on_cpu]
    if len(known) < _LEAST_RANKS:
        return None
    waits = np.array([e.price("communication").mid for _, e in known])
    steps = np.array([e.step_ms.mid for _, e in known])
    if waits.max() <= 0:
        return None
    more = waits - waits.min()
    others = np.delete(more, np.argmin(waits))
    price = Interval(float(others.min()), float(more.mean()), float(more.max()))
    if price.mid < _LEAST_SHARE * float(np.median(steps)):
        return None
    who = _who(np.asarray(waits), [rank for rank, _ in known])
    sentence = (
        f"The ranks' work is uneven: {who}; the others wait for it in collectives, "
        f"{of_step(price.mid, float(np.median(steps)))} of a step on average."
    )
    device = known[0][1].device
    return Finding("uneven_ranks", device, "communication", price, sentence, (), ())


def _who(waits: np.typing.NDArray[np.float64], names: Sequence[int | None]) -> str:
    """The slow ranks: those that wait hardly longer than the one that waits least."""
    order = np.argsort(waits)
    spread = float(waits.max() - waits.min())
    late = [i for i in order.tolist() if waits[i] - waits.min() < (1 - _APART) * spread]
    late = late if len(late) <= max(1, len(waits) // 2) else late[:1]
    numbers = [names[i] for i in sorted(late, key=lambda i: names[i] or 0)]
    told = ", ".join("one without a number" if number is None else str(number) for number in numbers)
    return f"{count(len(late), 'rank comes', 'ranks come')} last ({told})"
