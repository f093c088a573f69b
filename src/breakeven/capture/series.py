"""Samples of one kind of step, and when there are enough of them. Pure: the clock's readings come from outside."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from breakeven.capture.request import Place, StepGroup
from breakeven.units import NS_PER_S

#: Steps that are enough for a median whose interval is a few per cent, if they also last long enough to see past jitter.
ENOUGH_STEPS: Final = 200
ENOUGH_NS: Final = NS_PER_S // 2
#: Default time to measure; a step that is longer than that gets three samples while they fit into `LONG_NS`, else fewer.
MEASURE_NS: Final = 5 * NS_PER_S
LONG_NS: Final = 12 * NS_PER_S
FEWEST_STEPS: Final = 3
#: Warm-up that is waited out before counting begins (what is warm-up is decided again afterwards, by `warmup_of`).
WARM_STEPS: Final = 20
WARM_NS: Final = 3 * NS_PER_S // 10
WARM_LONG_NS: Final = 2 * NS_PER_S
#: Samples kept of one series; beyond, only the number of edges is counted.
MOST_SAMPLES: Final = 200_000


@dataclass
class Series:
    """Steps of one place on one logical device, as they happen.

    `clean` says of each sample that it is one round of one loop: nothing of another group, and no leaving and re-entering of
    the loop (a validation between epochs, a new set of loader workers) lies inside.
    """

    place: Place
    device: str
    loop: int | None = None
    samples: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    clean: list[bool] = field(default_factory=list)
    edges: int = 0
    first_ns: int | None = None
    open_ns: int | None = None
    open_wait: int = 0
    tainted: bool = False

    def start(self, now: int, wait: int) -> None:
        """A step begins now (`wait`: input wait so far, over the whole run)."""
        self.open_ns, self.open_wait, self.tainted = now, wait, False

    def edge(self, now: int, wait: int) -> None:
        """A step ends now and the next begins: `close` and `start` in one, since it is in the hot path."""
        if self.open_ns is not None and len(self.samples) < MOST_SAMPLES:
            self.first_ns = self.open_ns if self.first_ns is None else self.first_ns
            self.samples.append(now - self.open_ns)
            self.waits.append(wait - self.open_wait)
            self.clean.append(not self.tainted)
        self.edges += 1
        self.open_ns = now
        self.open_wait, self.tainted = wait, False

    def close(self, now: int, wait: int) -> None:
        """A step ends now and none begins."""
        if self.open_ns is not None and len(self.samples) < MOST_SAMPLES:
            self.first_ns = self.open_ns if self.first_ns is None else self.first_ns
            self.samples.append(now - self.open_ns)
            self.waits.append(wait - self.open_wait)
            self.clean.append(not self.tainted)
        self.open_ns = None

    def group(self, loop_line: int | None) -> StepGroup:
        """What it comes to: the clean samples where there are three, else all of them."""
        keep = [i for i, clean in enumerate(self.clean) if clean]
        if len(keep) < FEWEST_STEPS:
            keep = list(range(len(self.samples)))
        samples = tuple(self.samples[i] for i in keep)
        waits = tuple(self.waits[i] for i in keep)
        return StepGroup(self.place, self.device, samples, waits, warmup_of(samples), loop_line)


def warmup_of(samples: Sequence[int]) -> int:
    """How many of the first samples are warm-up: up to where three in a row are as fast as the second half is.

    The first of several is always warm-up (first calls choose algorithms and fill caches); at most half of them are.

    >>> warmup_of([900, 120, 101, 100, 99, 100, 101, 100])
    1
    >>> warmup_of([5])
    0
    """
    count = len(samples)
    if count < 2:
        return 0
    steady = statistics.median(samples[count // 2 :])
    for k in range(1, count // 2):
        if samples[k] <= 1.25 * steady + 1 and statistics.median(samples[k : k + FEWEST_STEPS]) <= 1.1 * steady + 1:
            return k
    return max(1, count // 2)


@dataclass(frozen=True)
class Limits:
    """How much the user asked for; None: until the figure is steady."""

    steps: int | None = None
    seconds: float | None = None


@dataclass
class Pace:
    """Says at each edge whether a series has been measured enough."""

    limits: Limits
    counted_ns: int | None = None
    counted_from: int = 0

    def enough(self, series: Series, now: int) -> bool:
        """Whether to stop at this edge, which has just been added to `series`."""
        done = len(series.samples)
        if done and series.samples[0] >= LONG_NS and self.limits == Limits():
            return True  # so long a step holds its own warm-up many times over
        began = series.first_ns if series.first_ns is not None else now
        if self.counted_ns is None:
            if self._warming(done, now - began):
                return False
            self.counted_ns, self.counted_from = now, done
            return False
        counted, spent = done - self.counted_from, now - self.counted_ns
        if self.limits.steps is not None and counted >= self.limits.steps:
            return True
        if self.limits.seconds is not None:
            return spent >= self.limits.seconds * NS_PER_S
        if self.limits.steps is not None:
            return False
        if counted >= ENOUGH_STEPS and spent >= ENOUGH_NS:
            return True
        return (spent >= MEASURE_NS and counted >= FEWEST_STEPS) or spent >= LONG_NS

    def _warming(self, done: int, spent: int) -> bool:
        if self.limits.seconds is not None and spent >= self.limits.seconds * NS_PER_S:
            return False
        if spent >= WARM_LONG_NS and done >= 1:
            return False
        return done < FEWEST_STEPS or (spent < WARM_NS and done < 10 * WARM_STEPS) or (done < WARM_STEPS and spent < WARM_LONG_NS)


@dataclass
class Batch:
    """Samples per step: what a loader says, else the leading dimension of what enters the outermost module."""

    from_loader: int | None = None
    from_module: int | None = None

    @property
    def size(self) -> int | None:
        """The loader's word first."""
        return self.from_loader or self.from_module
