"""Where a few steps of the timing pass spend their time, by PyTorch's own profiler: what each operation takes on the CPU itself.

The recording pass sees every operation too, but through a dispatch mode, with caches that its own work has emptied, and in few
steps; the profiler adds a fraction of a microsecond to an operation and nothing to what runs inside. It runs after the timing
has ended, so that nothing of it is in the measured step.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from breakeven.timeline.looked import Looked, OperationTime
from breakeven.timeline.schema import Phase
from breakeven.units import NS_PER_S

#: Steps that are looked at, and for how long; a look costs a user as much time again. Chosen, not measured.
MOST_STEPS: Final = 10
FEWEST_STEPS: Final = 3
LOOK_NS: Final = 3 * NS_PER_S // 10
#: A longer step is not looked at: three of them would cost more than the look may.
LONGEST_NS: Final = NS_PER_S // 5
EDGE: Final = "breakeven::edge"
#: What PyTorch itself marks, by how the name of the mark begins. An optimizer's mark is no use: what it calls back lies inside of
#: it, and clipping, which the recording counts to it, outside.
_PHASES: Final = (("autograd::engine::evaluate_function", Phase.BACKWARD), ("enumerate(DataLoader)#", Phase.INPUT))

#: Name, start ns, duration ns, thread.
Event = tuple[str, int, int, int]


class Kernels:
    """Looks at a few steps of one series, in the thread that runs them."""

    def __init__(self) -> None:
        self._profile: Any = None  # torch leaves its profiler without annotations
        self._edges = 0
        self._began = 0

    def begin(self, now: int) -> bool:
        """Start at a step's edge; False: not possible here (no PyTorch, a profiler of the script's own, another thread)."""
        torch = sys.modules.get("torch")
        if torch is None or threading.current_thread() is not threading.main_thread():
            return False
        try:
            if torch._C._autograd._profiler_enabled():
                return False
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._profile = torch.autograd.profiler.profile(use_cpu=True)
                self._profile.__enter__()
        except (RuntimeError, AttributeError, TypeError):  # a build without it, or another torch's
            return False
        self._began = now
        self._mark()
        return True

    def edge(self, now: int) -> bool:
        """A step has ended; True: that is enough."""
        self._mark()
        self._edges += 1
        spent = now - self._began
        return self._edges >= MOST_STEPS or (self._edges >= FEWEST_STEPS and spent >= LOOK_NS) or spent >= 4 * LOOK_NS

    def end(self) -> Looked | None:
        """What was seen, per step; None: too little."""
        profile, self._profile = self._profile, None
        if profile is None:
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                profile.__exit__(None, None, None)
            events = [(e.name(), e.start_ns(), e.duration_ns(), e.start_thread_id()) for e in profile.kineto_results.events()]
        except (RuntimeError, AttributeError, TypeError):
            return None
        return looked(events)

    def _mark(self) -> None:
        torch = sys.modules["torch"]
        with torch.autograd.profiler.record_function(EDGE):
            pass


def looked(events: Iterable[Event]) -> Looked | None:
    """Medians over the steps between the marks of their edges: a step's length, and own times of its operations by phase.

    Args:
        events: of a profiler, in any order; those of one thread lie inside each other or apart.

    Returns:
        One entry per phase and operation that most steps have; None with fewer than three whole steps.
    """
    events = sorted(events, key=lambda event: (event[1], -event[2]))
    edges = [start for name, start, _, _ in events if name == EDGE]
    steps = len(edges) - 1
    if steps < FEWEST_STEPS:
        return None
    own: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * steps)
    calls: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * steps)
    count = [0] * steps
    at = 0
    for name, start, self_ns, phase in _own_times(events):
        while at < steps and start >= edges[at + 1]:
            at += 1
        if start < edges[0] or at >= steps:
            continue
        count[at] += 1
        if name.startswith("aten::"):
            own[phase, name][at] += self_ns
            calls[phase, name][at] += 1
    found = (
        OperationTime(phase, name, statistics.median(calls[phase, name]), statistics.median(times))
        for (phase, name), times in own.items()
    )
    length = statistics.median(end - start for start, end in itertools.pairwise(edges))
    return Looked(length, statistics.median(count), tuple(one for one in found if one.calls > 0))


def _own_times(events: list[Event]) -> list[tuple[str, int, int, str]]:
    """Name, start, time without what lies inside, and phase of each event, by start."""
    open_: dict[int, list[int]] = defaultdict(list)
    found: list[list[Any]] = []  # as returned, the third growing smaller
    for name, start, duration, thread in events:
        inside = open_[thread]
        while inside and start >= found[inside[-1]][1] + events[inside[-1]][2]:
            inside.pop()
        phase = found[inside[-1]][3] if inside else Phase.FORWARD
        if inside:
            found[inside[-1]][2] -= duration
        phase = next((own for start_of, own in _PHASES if name.startswith(start_of)), phase)
        inside.append(len(found))
        found.append([name, start, duration, phase])
    return [(name, start, max(0, self_ns), phase) for name, start, self_ns, phase in found]
