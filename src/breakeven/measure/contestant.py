"""What is timed: one job on one device under some settings, and what the stopwatch read of it. No judgement is made here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from breakeven.measure.backends.protocol import Backend


def _nothing() -> None:
    """No settings to make."""


@dataclass(frozen=True)
class Contestant:
    """A job on a device.

    Attributes:
        name: how the answer calls it.
        backend: the device.
        run: does the job so many times, one after another, without waiting for the device.
        enter: makes its settings (threads …) before each of its turns; outside the timed part.
    """

    name: str
    backend: Backend
    run: Callable[[int], None]
    enter: Callable[[], None] = _nothing


@dataclass(frozen=True)
class Patience:
    """When to stop.

    Attributes:
        seconds: longest time for all contestants together; a call that takes longer is still made three times.
        precision: half width of the interval, as a part of the median, at which it is narrow enough.
        level: of the interval.
        least: samples of each before it may be called narrow.
    """

    seconds: float = 10.0
    precision: float = 0.01
    level: float = 0.95
    least: int = 30

    @property
    def looked_level(self) -> float:
        """The level at which an interval is computed so that it keeps `level` although it was looked at while it grew.

        Who stops where it happens to be narrow stops on luck at times; half of the error is kept for that (Bonferroni).
        """
        return 1 - (1 - self.level) / 2


@dataclass
class Reading:
    """Raw readings of one contestant, nanoseconds; filled as the measurement goes on.

    Attributes:
        first_ns: the very first call, waited for.
        alone_ns: calls by themselves, waited for, warm-up first.
        issued_ns: the same calls, the clock read before waiting.
        clock_step_ns: step of the clock: what all of its readings are multiples of.
        steady: calls by themselves had become steady before batches began.
        calls: in each batch.
        batch_ns: batches, in the order taken.
        ends_ns: a call by itself right after each batch, where a batch has a begin and an end of its own; else empty.
        ends_issued_ns: the same calls, the clock read before waiting.
        warmup_calls: calls before batches were timed.
        energy_j: of one call; None: not readable.
        slowed: reasons for a low clock, at the begin and the end.
        stopped: `precise` or `time_up`.
    """

    contestant: Contestant
    first_ns: int = 0
    alone_ns: list[int] = field(default_factory=list)
    issued_ns: list[int] = field(default_factory=list)
    clock_step_ns: int = 0
    steady: bool = False
    settled_at: int = 0
    calls: int = 1
    batch_ns: list[int] = field(default_factory=list)
    ends_ns: list[int] = field(default_factory=list)
    ends_issued_ns: list[int] = field(default_factory=list)
    warmup_calls: int = 0
    energy_j: float | None = None
    slowed: tuple[str | None, str | None] = (None, None)
    stopped: str = "time_up"

    @property
    def per_call_ns(self) -> list[float]:
        """Each batch by its calls; on an asynchronous device less what the first one waits for, which the others hide."""
        if self.ends_ns:
            pairs = zip(self.batch_ns, self.ends_ns, strict=True)
            return [(took - min(alone, took)) / (self.calls - 1) for took, alone in pairs]
        return [took / self.calls for took in self.batch_ns]

    @property
    def settled_alone_ns(self) -> list[int]:
        """Calls by themselves in the steady state."""
        return self.ends_ns or self.alone_ns[self.settled_at :] or self.alone_ns[-1:]

    @property
    def settled_issued_ns(self) -> list[int]:
        """The same, read before waiting."""
        return self.ends_issued_ns or self.issued_ns[self.settled_at :] or self.issued_ns[-1:]
