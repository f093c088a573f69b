"""The rhythm of a loop: when steps end and where their time goes. In the hot path are clock readings and additions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from breakeven.units import NS_PER_S

#: Parts of a step. `rest` lies between backward pass and optimizer (clipping) and, where the round of a loop is the step, after
#: the optimizer; where the optimizer ends the step, what follows it is counted with the next `forward`.
PARTS: Final = ("input", "forward", "backward", "rest", "optimizer")
INPUT, FORWARD, BACKWARD, REST, OPTIMIZER = range(len(PARTS))
#: Steps that the figure rests on: the latest ones.
KEPT: Final = 1000
#: Steps of warm-up before a step is sampled, and the least time between two samples: a second, and fifty steps, so that
#: a sampled step that lost all of its overlap would cost 2 %.
_WARM: Final = 5
_EVERY_NS: Final = NS_PER_S
_EVERY_STEPS: Final = 50


class Rhythm:
    """Sums of one loop. The methods are called by ears in PyTorch, at the edges of a step's parts.

    A sampled step waits for the device at each edge: on an asynchronous device only such a step shows where its time goes. What
    a step takes there is told by windows: the time from one moment at which the device had nothing left to do to the next, by
    the steps in it. Single steps show how long issuing takes, until the queue is full.

    Attributes:
        latest: single steps.
        windows: nanoseconds per step, of an asynchronous device.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.synchronise: Callable[[], None] | None = None
        self.began = self.mark = clock()
        self.open: int | None = None
        self.waited = 0
        self.sums = [0] * len(PARTS)
        self.steps = 0
        self.first_ns: int | None = None
        self.latest: deque[int] = deque(maxlen=KEPT)
        self.sampled_sums = [0] * len(PARTS)
        self.sampled_whole = 0
        self.sampled = 0
        self.events = 0
        self.windows: deque[float] = deque(maxlen=KEPT)
        self._window: tuple[int, int] | None = None
        self._sampling = False
        self._sample_at = 0
        self._begin: list[int] = list(self.sums)

    def part(self, which: int) -> None:
        """A part of the step ends now."""
        if self._sampling and self.synchronise is not None:
            self.synchronise()
        now = self.clock()
        took = now - self.mark
        if self.waited:
            took -= self.waited
            self.waited = 0
        self.sums[which] += took
        self.mark = now
        self.events += 1

    def input(self, took: int) -> None:
        """The next batch was waited for."""
        self.sums[INPUT] += took
        self.waited += took

    def edge(self, which: int) -> int:
        """A step ends now, with a part, and the next one begins; the time."""
        self.part(which)
        now, began = self.mark, self.open
        if began is not None:
            self._close(now - began)
        self._begin = list(self.sums)
        self.open = self.mark
        return now

    def leave(self) -> None:
        """The loop is left, or a new one begins: what comes next is no step until the next edge."""
        if self.synchronise is not None:
            self.synchronise()
        self.mark = self.clock()
        self._end_window()
        self.open, self.waited, self._sampling, self._window = None, 0, False, None
        self._begin = list(self.sums)

    def _close(self, took: int) -> None:
        self.steps += 1
        if self.first_ns is None:
            self.first_ns = took
        if self._sampling:
            self._sampling = False
            self.sampled += 1
            self.sampled_whole += took
            for at, (before, after) in enumerate(zip(self._begin, self.sums, strict=True)):
                self.sampled_sums[at] += after - before
            self._sample_at = self.mark + max(_EVERY_NS, _EVERY_STEPS * took)
            self._window = self.mark, self.steps
            return
        self.latest.append(took)
        if self.synchronise is not None and self.steps >= _WARM and self.mark >= self._sample_at:
            self._sampling = True
            self.synchronise()
            self.mark = self.clock()
            self._end_window()

    def _end_window(self) -> None:
        if self._window is not None and self.steps > self._window[1]:
            began, steps = self._window
            self.windows.append((self.mark - began) / (self.steps - steps))

    def usual(self) -> list[float]:
        """Nanoseconds of usual steps: windows on an asynchronous device, else the latest steps without those of warm-up."""
        if self.synchronise is not None:
            return list(self.windows) or ([self.sampled_whole / self.sampled] if self.sampled else [])
        latest = [float(took) for took in self.latest]
        return latest[min(_WARM, len(latest) // 3) if self.steps <= len(latest) else 0 :]

    def divided(self) -> tuple[int, list[int]]:
        """Time of whole steps and its parts: of the sampled ones, where there are any."""
        return (self.sampled_whole, self.sampled_sums) if self.sampled else (sum(self.sums), self.sums)
