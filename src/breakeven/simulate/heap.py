"""The simulator by events: a heap ordered by (time, priority, serial), so that equal times have one order by construction.

The host issues; streams run their issues in order; a copy engine serves its copies in the order they were issued; workers
make batches; the launch queue of a stream is bounded. The array path (`arrays`) is the same model as a recurrence.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from breakeven.simulate.schedule import Engine, Ints, Schedule

#: At equal times: what ends, then batches that get ready, then the host.
_ENDS, _BATCH, _HOST = 0, 1, 2


@dataclass(frozen=True)
class Played:
    """When everything happened, ns, one entry per issue.

    Attributes:
        reached: the host's work before the issue was done (it may then wait for a place in the queue or a batch).
        issued: it was handed to the device, or done on the host.
        started: the device began on it; equal to `issued` for issues that run on the host.
        ended: it was done.
        free: the host went on, after any wait.
        batches: per batch: worker, start, end.
    """

    reached: Ints
    issued: Ints
    started: Ints
    ended: Ints
    free: Ints
    batches: tuple[tuple[int, int, int], ...] = ()


def play(schedule: Schedule) -> Played:
    """Play a schedule event by event."""
    state = _State(schedule)
    for _ in range(0 if schedule.loader is None else schedule.loader.workers * schedule.loader.prefetch):
        state.request_batch(0)
    if len(schedule):
        state.push(state.host_ns[0], _HOST, 0)
    while state.heap:
        time, priority, _, which = heapq.heappop(state.heap)
        (state.end, state.batch_ready, state.host_reaches)[priority](time, which)
    return state.played()


@dataclass
class _State:
    """The one mutable thing, alive for one call of `play`; times are Python's whole numbers."""

    schedule: Schedule
    heap: list[tuple[int, int, int, int]] = field(default_factory=list)
    serial: int = 0

    def __post_init__(self) -> None:
        plan, n = self.schedule, len(self.schedule)
        self.host_ns, self.device_ns = plan.host_ns.tolist(), plan.device_ns.tolist()
        self.engine, self.stream = plan.engine.tolist(), plan.stream.tolist()
        self.kernels, self.waits, self.after = plan.kernels.tolist(), plan.waits.tolist(), plan.after.tolist()
        self.takes = plan.takes.tolist()
        self.reached, self.issued, self.started, self.ended, self.free = ([-1] * n for _ in range(5))
        self.queues: dict[int, deque[int]] = {stream: deque() for stream in sorted(set(self.stream))}
        self.held = dict.fromkeys(self.queues, 0)  # launches that a stream holds, the running one included
        self.engines: dict[int, deque[int]] = {Engine.H2D: deque(), Engine.D2H: deque()}
        self.batches: list[tuple[int, int, int]] = []  # worker, start, end
        self.worker_free = [0] * (0 if plan.loader is None else plan.loader.workers)
        self.ready: set[int] = set()
        self.taken = 0
        self.blocked: int | None = None  # issue at which the host stands
        self.waiting: tuple[int, int] | None = None  # the issue that it is to leave, and the one whose end it waits for

    def push(self, time: int, priority: int, which: int) -> None:
        heapq.heappush(self.heap, (time, priority, self.serial, which))
        self.serial += 1

    def host_reaches(self, time: int, at: int) -> None:
        """The host has done its work before this issue."""
        if self.reached[at] < 0:
            self.reached[at] = time
        if self.takes[at] and self.schedule.loader is not None and self.taken not in self.ready:
            self.blocked = at
            return
        if self.engine[at] >= 0:
            held = self.held[self.stream[at]]
            if held and held + self.kernels[at] > self.schedule.queue_limit:
                self.blocked = at
                return
        self.blocked = None
        self.issue(time, at)

    def issue(self, time: int, at: int) -> None:
        self.issued[at] = time
        if self.takes[at] and self.schedule.loader is not None:
            self.taken += 1
            self.request_batch(time)
        if self.engine[at] >= 0:
            self.held[self.stream[at]] += self.kernels[at]
            self.queues[self.stream[at]].append(at)
            if self.engine[at] in self.engines:
                self.engines[self.engine[at]].append(at)
            self.start_what_can(time)
        else:
            self.started[at] = self.ended[at] = time
        wait = self.waits[at]
        if wait >= 0 and (self.ended[wait] < 0 or self.ended[wait] > time):
            self.waiting = (at, wait)
            return
        self.go_on(time, at)

    def go_on(self, time: int, at: int) -> None:
        """The host leaves this issue for the next."""
        self.waiting = None
        self.free[at] = time
        if at + 1 < len(self.host_ns):
            self.push(time + self.host_ns[at + 1], _HOST, at + 1)

    def start_what_can(self, time: int) -> None:
        """Start the heads of the streams whose engine and dependency let them."""
        for queue in self.queues.values():
            if not queue or self.started[queue[0]] >= 0:
                continue
            head = queue[0]
            line = self.engines.get(self.engine[head])
            first_in_line = line is None or line[0] == head
            depends = self.after[head]
            if first_in_line and (depends < 0 or 0 <= self.ended[depends] <= time):
                self.started[head] = time
                self.push(time + self.device_ns[head], _ENDS, head)

    def end(self, time: int, at: int) -> None:
        """The device is done with an issue."""
        self.ended[at] = time
        self.queues[self.stream[at]].popleft()
        self.held[self.stream[at]] -= self.kernels[at]
        if self.engine[at] in self.engines:
            self.engines[self.engine[at]].popleft()
        self.start_what_can(time)
        if self.waiting is not None and self.waiting[1] == at:
            self.go_on(time, self.waiting[0])
        elif self.blocked is not None:
            self.push(time, _HOST, self.blocked)
            self.blocked = None

    def request_batch(self, time: int) -> None:
        """The next worker in turn gets the next batch to make."""
        loader = self.schedule.loader
        if loader is None:
            return
        worker = len(self.batches) % loader.workers
        start = max(time, self.worker_free[worker])
        self.worker_free[worker] = start + loader.batch_ns
        self.batches.append((worker, start, self.worker_free[worker]))
        self.push(self.worker_free[worker], _BATCH, len(self.batches) - 1)

    def batch_ready(self, time: int, batch: int) -> None:
        self.ready.add(batch)
        if self.blocked is not None and self.takes[self.blocked]:
            self.push(time, _HOST, self.blocked)
            self.blocked = None

    def played(self) -> Played:
        columns = (self.reached, self.issued, self.started, self.ended, self.free)
        reached, issued, started, ended, free = (np.array(values, dtype=np.int64) for values in columns)
        return Played(reached, issued, started, ended, free, tuple(self.batches))
