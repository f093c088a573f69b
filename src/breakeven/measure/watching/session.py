"""One watch of one loop: ears and clocks put in place, sums kept, findings drawn, everything taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from time import perf_counter_ns  # the real one: a watch puts its own in the module
from typing import Any, TypeVar

import numpy as np

from breakeven.errors import BreakevenError
from breakeven.fallbacks import Fallback, listen
from breakeven.measure.backends.cpu import Cpu
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.known import find_backend
from breakeven.measure.watching.checks import checks, fallen_back
from breakeven.measure.watching.clocks import Clocks
from breakeven.measure.watching.ears import ROUND, Ears
from breakeven.measure.watching.meeting import meeting
from breakeven.measure.watching.rhythm import PARTS, Rhythm
from breakeven.measure.watching.traps import traps
from breakeven.results.records import Finding, Interval, Share
from breakeven.results.watching import Watched
from breakeven.stats.estimate import median_interval
from breakeven.units import NS_PER_MS, NS_PER_S

T = TypeVar("T")


class Session:
    """Watches while it is entered; may be entered again, for the next epoch.

    Args:
        names: the caller's globals, for clocks that were imported by name.
        every_ns: time between two calls of `on_look`.
        on_look: told at a step's edge that it is time to look.
        backend: the device; None: found by the first optimizer's parameters.
        loader: what is looped over, where there is something: by its rounds a step ends where the watch itself is looped over.
    """

    def __init__(
        self, names: dict[str, Any], every_ns: int, on_look: Callable[[], None], backend: Backend | None, loader: object
    ) -> None:  # the caller's globals hold anything
        self.backend: Backend | None = backend
        self.rhythm = Rhythm(backend.clock_ns if backend is not None else perf_counter_ns)
        self.ears = Ears(self.rhythm, self._edge)
        self.clocks = Clocks(self.rhythm, names)
        self._every_ns, self._on_look = every_ns, on_look
        self._look_at = self.rhythm.began + every_ns
        self._workers = int(getattr(loader, "num_workers", 0) or 0)
        self._stack = ExitStack()
        self._meeting: Finding | None = None
        self._fallbacks: list[Fallback] = []
        self._found: tuple[Finding, ...] = ()
        if backend is not None and backend.asynchronous:
            self.rhythm.waits_by(backend.synchronise)

    def __enter__(self) -> Session:
        self.rhythm.leave()
        self.rhythm.began = self.rhythm.mark if not self.rhythm.steps else self.rhythm.began
        self._stack.enter_context(self.ears)
        self._stack.enter_context(self.clocks)
        self._stack.callback(listen(self.clocks.is_users, self._fallbacks.append))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._stack.close()
        if error is None:  # a device that has failed may not be waited for
            self.rhythm.leave()
        if error is not None:
            self._meeting = meeting(error, self._device(), self.clocks.is_users)
        self._found = checks(self._device(), self._name(), self.ears.optimizers, self._workers)

    def through(self, values: Iterable[T]) -> Iterator[T]:
        """The values of a loop, each round a step."""
        clock, ears = self.rhythm.clock, self.ears
        ears.hear_rounds()
        following = iter(values)
        first = True
        while True:
            if not first:
                ears.round()
            began = clock()
            try:
                value = next(following)
            except StopIteration:
                self.rhythm.leave()
                return
            if first:
                first = False
                if ears.rank == ROUND:
                    self.rhythm.opened(began)
            ears.fetched(clock() - began)
            yield value

    def seen(self) -> Watched:
        """What was seen so far."""
        rhythm = self.rhythm
        steady = rhythm.usual()
        device = self._device()
        found = traps(self.clocks.regions.values(), device, steady, rhythm.first_ns)
        fallen = (fallen_back(one) for one in dict.fromkeys(self._fallbacks))
        findings = (*((self._meeting,) if self._meeting else ()), *found, *self._found, *fallen)
        return Watched(
            device=device if rhythm.steps else None, steps=rhythm.steps, step_ms=_interval(steady),
            first_ms=None if rhythm.first_ns is None else rhythm.first_ns / NS_PER_MS, parts=self._parts(steady),
            sampled=rhythm.sampled, seconds=(rhythm.clock() - rhythm.began) / NS_PER_S, loss=self._loss(), findings=findings,
        )  # fmt: skip

    def _edge(self, now: int) -> None:
        if self.backend is None:
            self._find_device()
        if now >= self._look_at:
            self._look_at = now + self._every_ns
            self._on_look()

    def _find_device(self) -> None:
        """The device that the first optimizer's parameters lie on; without an optimizer, the accelerator that is in use."""
        import torch

        place = next((p.device for o in self.ears.optimizers for g in o.param_groups for p in g["params"]), None)
        used = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        if place is None and self.rhythm.steps < 3 and not used:
            return
        try:
            self.backend = find_backend(str(place) if place is not None else "cuda" if used else "cpu")
        except BreakevenError:  # a device that there is no stopwatch for
            self.backend = Cpu()
        if self.backend.asynchronous:
            self.rhythm.waits_by(self.backend.synchronise)

    def _device(self) -> str:
        return self.backend.device if self.backend is not None else "cpu"

    def _name(self) -> str:
        return self.backend.name() if self.backend is not None else ""

    def _parts(self, steady: list[float]) -> tuple[Share, ...]:
        whole, sums = self.rhythm.divided()
        if whole <= 0 or not steady:
            return ()
        middle = float(np.median(steady)) / NS_PER_MS
        return tuple(Share(name, middle * part / whole, part / whole) for name, part in zip(PARTS, sums, strict=True) if part > 0)

    def _loss(self) -> float | None:
        """The latest loss; reading it waits for the device, so nothing calls this in the hot path."""
        loss = self.ears.loss
        loss = loss[0] if isinstance(loss, (list, tuple)) and len(loss) == 1 else loss
        return float(loss.detach()) if hasattr(loss, "numel") and loss.numel() == 1 else None


def _interval(steady: list[float]) -> Interval | None:
    if not steady:
        return None
    samples = np.array(steady)
    low, high = median_interval(samples)
    return Interval(low / NS_PER_MS, float(np.median(samples)) / NS_PER_MS, high / NS_PER_MS)
