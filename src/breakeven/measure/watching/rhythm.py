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


#: Beside the parts, what stands in the log: the end of a step (added to its last part), and a wait for the next batch.
_EDGE: Final = 8
_WAITED: Final = -1
#: Entries of the log at which it is added up: some tens of steps.
_HELD: Final = 256


class Rhythm:
    """Sums of one loop. The methods are called by ears in PyTorch, at the edges of a step's parts.

    Between two of them a step fills the processor's caches with its own, so that every line here runs cold: a reading of the
    clock goes into a log, and the log is added up now and then.

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
        self.first_ns: int | None = None
        self.latest: deque[int] = deque(maxlen=KEPT)
        self.sampled_sums = [0] * len(PARTS)
        self.sampled_whole = 0
        self.sampled = 0
        self.windows: deque[float] = deque(maxlen=KEPT)
        self._steps = 0
        self._log: list[tuple[int, int]] = []
        self._window: tuple[int, int] | None = None
        self._sampling = False
        self._sample_at = 0
        self._begin: list[int] = list(self.sums)

    @property
    def steps(self) -> int:
        """Steps that have ended."""
        self.settle()
        return self._steps

    def waits_by(self, synchronise: Callable[[], None]) -> None:
        """From now on the device has to be waited for."""
        self.settle()
        self.synchronise = synchronise

    def opened(self, at: int) -> None:
        """The step that runs began at this time."""
        self.settle()
        self.open = at

    def part(self, which: int) -> None:
        """A part of the step ends now."""
        if self._sampling and self.synchronise is not None:
            self.synchronise()
        self._log.append((which, self.clock()))

    def input(self, took: int) -> None:
        """The next batch was waited for."""
        self._log.append((_WAITED, took))

    def edge(self, which: int) -> int:
        """A step ends now, with a part, and the next one begins; the time."""
        if self._sampling and self.synchronise is not None:
            self.synchronise()
        now = self.clock()
        log = self._log
        log.append((which + _EDGE, now))
        if self.synchronise is not None or len(log) > _HELD:
            self.settle()
        return now

    def settle(self) -> None:
        """Add up the log."""
        log, self._log = self._log, []
        for which, value in log:
            if which == _WAITED:
                self.sums[INPUT] += value
                self.waited += value
                continue
            self.sums[which % _EDGE] += value - self.mark - self.waited
            self.waited = 0
            self.mark = value
            if which >= _EDGE:
                if self.open is not None:
                    self._close(value - self.open)
                self._begin = list(self.sums)
                self.open = self.mark

    def leave(self) -> None:
        """The loop is left, or a new one begins: what comes next is no step until the next edge."""
        self.settle()
        if self.synchronise is not None:
            self.synchronise()
        self.mark = self.clock()
        self._end_window()
        self.open, self.waited, self._sampling, self._window = None, 0, False, None
        self._begin = list(self.sums)

    def _close(self, took: int) -> None:
        self._steps += 1
        if self.first_ns is None:
            self.first_ns = took
        if self._sampling:
            self._sampling = False
            self.sampled += 1
            self.sampled_whole += took
            for at, (before, after) in enumerate(zip(self._begin, self.sums, strict=True)):
                self.sampled_sums[at] += after - before
            self._sample_at = self.mark + max(_EVERY_NS, _EVERY_STEPS * took)
            self._window = self.mark, self._steps
            return
        self.latest.append(took)
        if self.synchronise is not None and self._steps >= _WARM and self.mark >= self._sample_at:
            self._sampling = True
            self.synchronise()
            self.mark = self.clock()
            self._end_window()

    def _end_window(self) -> None:
        if self._window is not None and self._steps > self._window[1]:
            began, steps = self._window
            self.windows.append((self.mark - began) / (self._steps - steps))

    def usual(self) -> list[float]:
        """Nanoseconds of usual steps: windows on an asynchronous device, else the latest steps without those of warm-up."""
        self.settle()
        if self.synchronise is not None:
            return list(self.windows) or ([self.sampled_whole / self.sampled] if self.sampled else [])
        latest = [float(took) for took in self.latest]
        return latest[min(_WARM, len(latest) // 3) if self._steps <= len(latest) else 0 :]

    def divided(self) -> tuple[int, list[int]]:
        """Time of whole steps and its parts: of the sampled ones, where there are any."""
        self.settle()
        return (self.sampled_whole, self.sampled_sums) if self.sampled else (sum(self.sums), self.sums)
