"""The simulator as arrays: the recurrence `end = max(end before, issued) + duration` as a running maximum between waits.

Many sets of durations go through one structure at once: times are (issues × variants). Exact, to the nanosecond, and equal
to the heap (`heap`) by a property test; several streams are played issue by issue, still for all variants at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.simulate.schedule import Engine, Ints, Loader, Schedule

#: Entries of one block of a segment (issues × variants): 4 MB per array, to stay near the processor's caches.
_BLOCK = 1 << 19

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Ends:
    """When issues were handed over and done, and when the host went on: ns, shape (issues, variants)."""

    issued: Ints
    ended: Ints
    free: Ints


def ends(schedule: Schedule, host_ns: Ints | None = None, device_ns: Ints | None = None) -> Ends:
    """Play a schedule, with its own times or with many sets of them.

    Args:
        schedule: the structure (order, waits, streams, queue).
        host_ns: whole ns, shape (issues, variants); the schedule's own where None.
        device_ns: the same for the device. Issues that run on none must hold 0.
    """
    host = schedule.host_ns[:, None] if host_ns is None else host_ns
    device = schedule.device_ns[:, None] if device_ns is None else device_ns
    variants = max(host.shape[1], device.shape[1])
    state = _Run(schedule, np.broadcast_to(host, (len(schedule), variants)), np.broadcast_to(device, (len(schedule), variants)))
    on_device = schedule.engine >= 0
    if (schedule.stream[on_device] == 0).all() and (schedule.after < 0).all():
        state.by_segments()
    else:
        state.by_issues()
    return Ends(state.issued, state.ended, state.free)


def step_ns(schedule: Schedule, host_ns: Ints | None = None, device_ns: Ints | None = None) -> NDArray[np.float64]:
    """Mean time of the steps that count, ns, shape (variants,): `edges` of the last less `edges` of the last skipped."""
    at = edges(schedule, ends(schedule, host_ns, device_ns))
    before = at[schedule.skip - 1] if schedule.skip else 0
    mean: NDArray[np.float64] = (at[-1] - before) / (schedule.steps - schedule.skip)
    return mean


def edges(schedule: Schedule, played: Ends) -> Ints:
    """When each step was done: the host has left it and the device has ended its work; shape (steps, variants)."""
    last = np.searchsorted(schedule.step, np.arange(schedule.steps), side="right") - 1
    done = played.free[last]
    for stream in np.unique(schedule.stream[schedule.engine >= 0]):
        mine = np.flatnonzero((schedule.stream == stream) & (schedule.engine >= 0))
        at = np.searchsorted(mine, last, side="right") - 1
        done = np.maximum(done, np.where((at >= 0)[:, None], played.ended[mine[np.maximum(at, 0)]], 0))
    return done


def holds(schedule: Schedule) -> Ints:
    """For each issue the one whose end makes room for it in the launch queue; -1: there is room. Shape (n,)."""
    held = np.full(len(schedule), -1, dtype=np.int64)
    for stream in np.unique(schedule.stream):
        mine = np.flatnonzero((schedule.stream == stream) & (schedule.engine >= 0))
        total = np.cumsum(schedule.kernels[mine])
        over = np.flatnonzero(total > schedule.queue_limit)
        frees = np.searchsorted(total, total[over] - schedule.queue_limit, side="left")
        frees = np.minimum(frees, over - 1)  # more kernels than the queue holds: wait for all before it
        real = frees >= 0
        held[mine[over[real]]] = mine[frees[real]]
    return held


@dataclass
class _Run:
    """Times under way; alive for one call of `ends`."""

    schedule: Schedule
    host: Ints
    device: Ints

    def __post_init__(self) -> None:
        shape = self.host.shape
        self.issued, self.ended, self.free = (np.empty(shape, dtype=np.int64) for _ in range(3))
        self.hold = holds(self.schedule)
        self.holds_any = bool((self.hold >= 0).any())
        self.now = np.zeros(shape[1], dtype=np.int64)  # the host's clock
        self.batches = None if self.schedule.loader is None else _Batches(self.schedule.loader, shape[1])

    def by_segments(self) -> None:
        """One stream: a running maximum over each stretch in which the host waits for nothing of that stretch."""
        device_done = np.zeros_like(self.now)
        on_device = np.flatnonzero(self.schedule.engine >= 0)
        segments = self._segments()
        inside = np.searchsorted(on_device, np.array(segments).reshape(-1, 2)).tolist()
        for (a, b), (first, last) in zip(segments, inside, strict=True):
            clock = np.cumsum(self.host[a:b], axis=0)
            clock += self.now
            self._hold_back(a, b, clock)
            self.issued[a:b] = self.free[a:b] = self.ended[a:b] = clock
            if last > first:
                runs = on_device[first:last]
                length = self.device[runs]
                spent = np.cumsum(length, axis=0)
                idle_from = clock[runs - a]
                idle_from += length
                idle_from -= spent
                np.maximum(idle_from[0], device_done, out=idle_from[0])
                np.maximum.accumulate(idle_from, axis=0, out=idle_from)
                idle_from += spent
                self.ended[runs] = idle_from
                device_done = idle_from[-1]
            self._leave(b - 1)

    def _hold_back(self, a: int, b: int, clock: Ints) -> None:
        """Lift the host's clock where it stands before a full queue, or before a batch that is not ready."""
        held = a + np.flatnonzero(self.hold[a:b] >= 0) if self.holds_any else _NONE
        taking = self.batches is not None and bool(self.schedule.takes[a])
        if not taking and not len(held):
            return
        least = np.zeros_like(clock)
        least[held - a] = self.ended[self.hold[held]]
        if self.batches is not None and taking:
            np.maximum(least[0], self.batches.ready(), out=least[0])
        lift = least - clock
        np.maximum.accumulate(lift, axis=0, out=lift)
        clock += np.maximum(lift, 0)
        if self.batches is not None and taking:
            self.batches.take(clock[0])

    def _leave(self, last: int) -> None:
        """The host leaves the last issue of a stretch, after the wait that ends it."""
        wait = self.schedule.waits[last]
        self.now = self.issued[last] if wait < 0 else np.maximum(self.issued[last], self.ended[wait])
        self.free[last] = self.now

    def _segments(self) -> list[tuple[int, int]]:
        """Stretches that end at a wait, begin at a batch, and hold no issue that stands before the queue for one of them."""
        n = len(self.schedule)
        cuts = np.union1d(np.flatnonzero(self.schedule.waits >= 0) + 1, np.flatnonzero(self.schedule.takes))
        most = max(1, _BLOCK // max(1, self.host.shape[1]))
        held = np.flatnonzero(self.hold >= 0)
        frees = self.hold[held]  # never falls: the queue is in order
        out, a = [], 0
        for cut in [int(c) for c in cuts if 0 < c < n] + [n]:
            while a < cut:
                stop = min(cut, a + most)
                first = np.searchsorted(frees, a)
                if first < len(held) and a < held[first] < stop:
                    stop = int(held[first])
                out.append((a, stop))
                a = stop
        return out

    def by_issues(self) -> None:
        """Several streams: issue by issue."""
        plan = self.schedule
        streams = {int(s): np.zeros_like(self.now) for s in np.unique(plan.stream)}
        engines = {Engine.H2D: np.zeros_like(self.now), Engine.D2H: np.zeros_like(self.now)}
        for i, (engine, stream, after) in enumerate(
            zip(plan.engine.tolist(), plan.stream.tolist(), plan.after.tolist(), strict=True)
        ):
            clock = (self.now + self.host[i])[None]
            self._hold_back(i, i + 1, clock)
            self.issued[i] = clock[0]
            self.ended[i] = clock[0]
            if engine >= 0:
                start = np.maximum(clock[0], streams[stream])
                if engine in engines:
                    start = np.maximum(start, engines[engine])
                if after >= 0:
                    start = np.maximum(start, self.ended[after])
                self.ended[i] = streams[stream] = start + self.device[i]
                if engine in engines:
                    engines[engine] = self.ended[i]
            self._leave(i)


@dataclass
class _Batches:
    """The loader's workers, for all variants at once."""

    loader: Loader
    variants: int

    def __post_init__(self) -> None:
        zero = np.zeros(self.variants, dtype=np.int64)
        self.done = [zero] * self.loader.workers  # when each worker is through with what it was given
        self.queue: list[Ints] = []  # when the batches to come will be ready
        self.made = 0
        for _ in range(self.loader.workers * self.loader.prefetch):
            self._request(zero)

    def _request(self, time: Ints) -> None:
        worker = self.made % self.loader.workers
        self.done[worker] = np.maximum(time, self.done[worker]) + self.loader.batch_ns
        self.queue.append(self.done[worker])
        self.made += 1

    def ready(self) -> Ints:
        """When the next batch is ready."""
        return self.queue[0]

    def take(self, time: Ints) -> None:
        """The host takes it, and asks for another."""
        self.queue.pop(0)
        self._request(time)
