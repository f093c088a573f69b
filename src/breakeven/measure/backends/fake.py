"""An accelerator for tests, truly asynchronous: a thread executes what is queued, so that a forgotten wait reads near zero.

Its clock is simulated by default: the host's time moves only by what the settings say a call costs, the device's thread computes
when each piece of work begins and ends, and waiting moves the host's clock there. The truth is then known to the nanosecond,
and hours pass in no time. With `real=True` the same thread sleeps through the work on the real clock.
What it does not imitate: the inside of a kernel, caches, several streams.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from queue import SimpleQueue
from types import TracebackType


@dataclass(frozen=True)
class Noise:
    """How much the fake's times vary.

    Attributes:
        jitter: relative standard deviation of each piece of work.
        drift: relative standard deviation of a load that slows all work alike, and lasts.
        drift_ns: how long such a load lasts.
        pause_every_ns: usual time between two moments at which the host is not running; 0: never.
        pause_ns: how long these are.
        seed: of all that.
    """

    jitter: float = 0.0
    drift: float = 0.0
    drift_ns: int = 50_000_000
    pause_every_ns: int = 0
    pause_ns: int = 2_000_000
    seed: int = 0


@dataclass(frozen=True)
class Settings:
    """What the fake is like; times in nanoseconds.

    Attributes:
        launch_ns: time of the host to queue one piece of work.
        latency_ns: from then to its earliest begin.
        wait_ns: time of the host to notice that the device is done.
        queue: pieces that may be outstanding before the host has to wait.
        copy_gb_s: rate of the copy engine, which works beside the kernels.
        set_up_ns: what the first pieces of work cost the host on top: a context, a library, the choice of an algorithm.
        clock_step_ns: step of the clock.
        idle_w: power when idle.
        busy_w: power when busy.
        noise: how times vary.
    """

    launch_ns: int = 5_000
    latency_ns: int = 8_000
    wait_ns: int = 3_000
    queue: int = 1024
    copy_gb_s: float = 12.0
    set_up_ns: tuple[int, ...] = ()
    clock_step_ns: int = 1
    idle_w: float = 30.0
    busy_w: float = 250.0
    noise: Noise = field(default_factory=Noise)


@dataclass(frozen=True)
class _Work:
    engine: str
    issued_ns: int
    duration_ns: int


class Fake:
    """The device; `with Fake(settings) as device:` starts its thread and ends it.

    A test's job calls `launch`, `copy`, `host`; a stopwatch sees a `Backend`.
    """

    def __init__(self, settings: Settings | None = None, *, real: bool = False, device: str = "fake:0") -> None:
        self._is = settings or Settings()
        self._real = real
        self._device = device
        self._now = 0
        self._random = random.Random(self._is.noise.seed)
        self._load, self._load_until, self._pause_at = 1.0, 0, self._next_pause()
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._ends: deque[int] = deque()  # when pieces of work ended, in their order; those that the host has not looked at
        self._issued, self._finished, self._seen, self._wanted = 0, 0, 0, 0
        self._reached = threading.Event()
        self._free: dict[str, int] = {}
        self._busy_ns = 0
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.waits = 0

    def __enter__(self) -> Fake:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._queue.put(None)
        self._thread.join()

    # What a stopwatch sees.

    @property
    def device(self) -> str:
        """Its name for PyTorch, which knows none."""
        return self._device

    @property
    def asynchronous(self) -> bool:
        """It is."""
        return True

    def is_present(self) -> bool:
        """Always."""
        return True

    def name(self) -> str:
        """Its name."""
        return "fake accelerator"

    def synchronise(self) -> None:
        """Wait until the thread has done all that was queued."""
        self.waits += 1
        if self._issued:
            self._wait_for(self._issued)
        self.host(self._is.wait_ns)

    def clock_ns(self) -> int:
        """The host's clock, as coarse as it is told to be."""
        return self._time() // self._is.clock_step_ns * self._is.clock_step_ns

    def energy_j(self) -> float | None:
        """Energy by what it has done so far."""
        return (self._is.idle_w * self._time() + (self._is.busy_w - self._is.idle_w) * self._busy_ns) / 1e9

    def slowed(self) -> str | None:
        """Never."""
        return None

    # What a job asks of it.

    def launch(self, kernel_ns: int) -> None:
        """Queue a kernel; returns when it is queued, which has to wait where the queue is full."""
        self._issue("kernel", kernel_ns, self._is.launch_ns)

    def copy(self, size: int, *, pinned: bool = True) -> None:
        """Queue a copy on the copy engine; a pageable one waits for its end."""
        self._issue("copy", round(size / self._is.copy_gb_s), self._is.launch_ns)
        if not pinned:
            self._wait_for(self._issued)

    def host(self, duration_ns: int) -> None:
        """The host works for so long, and the device goes on."""
        self._pass(self._noisy(duration_ns))

    def _issue(self, engine: str, duration_ns: int, host_ns: int) -> None:
        extra = self._is.set_up_ns[self._issued] if self._issued < len(self._is.set_up_ns) else 0
        self._pass(self._noisy(host_ns) + extra)
        if self._issued - self._is.queue >= 0:
            self._wait_for(self._issued - self._is.queue + 1)
        self._issued += 1
        self._queue.put(_Work(engine, self._time(), self._noisy(duration_ns)))

    def _wait_for(self, number: int) -> None:
        """Until piece `number` (from 1) has ended."""
        if number <= self._seen:
            return
        self._reached.clear()
        self._wanted = number
        if self._finished < number:  # the thread looks at what is wanted after it has counted, so that none waits for ever
            self._reached.wait()
        latest = max(self._ends.popleft() for _ in range(number - self._seen))
        self._seen = number
        self._now = max(self._now, latest)

    def _work(self) -> None:
        """The device: one piece after another, as real hardware does it on its own."""
        while (work := self._queue.get()) is not None:
            begin = max(self._free.get(work.engine, 0), work.issued_ns + self._is.latency_ns)
            end = begin + work.duration_ns
            self._free[work.engine] = end
            if self._real and (left := end - time.perf_counter_ns()) > 0:
                time.sleep(left / 1e9)
            self._ends.append(end)
            self._busy_ns += work.duration_ns
            self._finished += 1
            if self._finished == self._wanted:
                self._reached.set()

    def _time(self) -> int:
        return time.perf_counter_ns() if self._real else self._now

    def _pass(self, duration_ns: int) -> None:
        if self._real:
            until = time.perf_counter_ns() + duration_ns
            while time.perf_counter_ns() < until:
                pass
            return
        self._now += duration_ns
        while self._now > self._pause_at:
            self._now += self._is.noise.pause_ns
            self._pause_at = self._now + self._next_pause()

    def _next_pause(self) -> int:
        every = self._is.noise.pause_every_ns
        return round(self._random.expovariate(1 / every)) if every else 1 << 62

    def _noisy(self, duration_ns: int) -> int:
        noise = self._is.noise
        if noise.drift and self._time() >= self._load_until:
            self._load = max(1 + self._random.gauss(0, noise.drift), 0.5)
            self._load_until = self._time() + round(self._random.expovariate(1 / noise.drift_ns))
        factor = self._load * (max(1 + self._random.gauss(0, noise.jitter), 0.1) if noise.jitter else 1.0)
        return round(duration_ns * factor)
