"""The timing pass: the user's script with nothing in its hot path but the step hook, ended at a step's edge when it is enough."""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Mapping
from typing import Final

from breakeven.capture import outcome
from breakeven.capture.request import ChildSpec, Place, ScriptEnd, StepGroup, TimedPass
from breakeven.capture.series import FEWEST_STEPS, Limits, Pace, Series
from breakeven.capture.steps import BACKWARD, LOOP, Steps, StopAtEdge
from breakeven.units import NS_PER_S

#: A better kind of step is waited for this long where the source mentions one (`.step(`, `.backward(`).
PATIENCE_NS: Final = 10 * NS_PER_S
#: A CPU twin that has been measured is let run this long where the source names an accelerator, so that its twin is met.
TWIN_NS: Final = 8 * NS_PER_S
MILESTONE_NS: Final = NS_PER_S
CHOOSE_NS: Final = NS_PER_S // 4
#: Bare `except:` clauses may swallow our ending; after this many edges the process ends where it stands.
MOST_RAISES: Final = 3


class Timing:
    """State of one timing pass in its child."""

    def __init__(self, spec: ChildSpec) -> None:
        self.spec, self.clock, self.pid = spec, time.perf_counter_ns, os.getpid()
        self.began = self.clock()
        self.steps: Steps | None = None
        self.batch_size: int | None = None
        self.named: tuple[str, ...] = ()
        self.versions: Mapping[str, str] = {}
        self.threads: int | None = None
        self._paces: dict[int, Pace] = {}
        self._first_edge: int | None = None
        self._written = self._chosen = 0
        self._raised = 0
        self._stopping = False

    def begin(self) -> None:
        """The script's imports are done: where nothing repeats, the run is timed from here."""
        self.began = self.clock()

    def on_edge(self, series: Series, now: int) -> None:
        """A step ended: write down, and stop here if it is enough.

        Raises:
            StopAtEdge: it is enough.
        """
        if self._stopping:
            self._stop()
        if self._first_edge is None:
            self._first_edge = now
            self.after_first_edge()
        limits = Limits(self.spec.request.steps, self.spec.request.seconds)
        pace = self._paces.setdefault(id(series), Pace(limits))
        if pace.enough(series, now) and self._is_the_one(series, now):
            self._stop()
        if now - self._written > MILESTONE_NS:
            self.save(ScriptEnd("killed", "ended before its end"))
            self._written = self.clock()
            if self.steps is not None:
                self.steps.shift(self._written - now)

    def after_first_edge(self) -> None:
        """Hook for what is looked at once the script trains."""

    def save(self, end: ScriptEnd) -> None:
        """Write down what has been learned so far."""
        outcome.write(self.spec.folder, outcome.RESULT, self.result(end))

    def result(self, end: ScriptEnd) -> TimedPass:
        """What has been learned so far."""
        steps = self.steps
        found = [] if steps is None else [s for s in steps.best() if s.samples]
        groups = [s.group(None if steps is None else steps.loop_line(s)) for s in found]
        unit, principal = self._principal(groups, end)
        if principal is not None and principal not in groups:
            groups.append(principal)
        extra = None
        if principal is not None and principal.warmup and principal.measured_ns:
            steady = sorted(principal.measured_ns)[len(principal.measured_ns) // 2]
            extra = max(0, principal.samples_ns[0] - steady)
        return TimedPass(
            unit, principal, tuple(sorted(groups, key=lambda g: -g.total_ns)), end, extra, self.batch_size,
            outcome.peak_rss_bytes(), self.named, self.threads, (), self.versions,
        )  # fmt: skip

    def _principal(self, groups: list[StepGroup], end: ScriptEnd) -> tuple[str | None, StepGroup | None]:
        """The group with most time; one on the accelerator goes before its CPU twin."""
        if groups:
            best = max(groups, key=lambda g: (g.device != "cpu", g.total_ns))
            looped = best.place.kind == "loop" or (best.place.kind == "backward" and best.loop_line is None)
            return ("loop" if looped else "step"), best
        if end.how in ("ok", "exit") and not end.failed:
            whole = StepGroup(Place("run", self.spec.request.target, 0), "", (self.clock() - self.began,), (0,), 0)
            return "run", whole
        return None, None

    def _is_the_one(self, series: Series, now: int) -> bool:
        """Whether this is the series to stop at, rather than one to wait past."""
        steps = self.steps
        if steps is None:
            return True
        waited = now - (self._first_edge or now)
        mentions = steps.book.attributes_called
        if steps.rank >= BACKWARD and waited < PATIENCE_NS:
            if "step" in mentions or (steps.rank == LOOP and "backward" in mentions):
                return False
        twin = steps.book.names_accelerator and series.device == "cpu" and "cuda" in self._devices_asked()
        if twin and waited < TWIN_NS:
            return False
        if steps.rank == LOOP:
            if now - self._chosen < CHOOSE_NS:
                return False
            self._chosen = now
            best = steps.best()
            return bool(best) and best[0] is series
        return True

    def _devices_asked(self) -> tuple[str, ...]:
        return ("cuda",)

    def _stop(self) -> None:
        self._stopping = True
        self._raised += 1
        if self._raised > MOST_RAISES or threading.current_thread() is not threading.main_thread():
            self.save(ScriptEnd("budget"))
            os._exit(0)
        if self._raised == 1:
            self.save(ScriptEnd("budget"))
        raise StopAtEdge


def versions(torch_version: str) -> Mapping[str, str]:
    """Versions that a figure depends on."""
    return {"python": platform.python_version(), "torch": str(torch_version), "platform": platform.platform()}


__all__ = ["FEWEST_STEPS", "Timing", "versions"]
