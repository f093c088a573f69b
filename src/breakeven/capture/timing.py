"""The timing pass: the user's script with nothing in its hot path but the step hook, ended at a step's edge when it is enough."""

from __future__ import annotations

import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from breakeven.capture import keras_script, outcome
from breakeven.capture.request import CPU, ChildSpec, KerasScript, Place, ScriptEnd, StepGroup, TimedPass
from breakeven.capture.series import Batch, Limits, Pace, Series
from breakeven.capture.steps import BACKWARD, LOOP, MARKED, Steps, StopAtEdge
from breakeven.capture.tail import FLUSHED, MATCHED, Tail
from breakeven.units import NS_PER_S

#: A better kind of step is waited for this long where the source mentions one: a loop that prepares data is no training.
PATIENCE_NS: Final = 45 * NS_PER_S
#: Words by which a source mentions optimizers (the classes of `torch.optim`) and backward passes.
OPTIMIZERS: Final = frozenset(
    {"optim", "optimizer", "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "LBFGS", "Muon"}
)
BACKWARDS: Final = frozenset({"backward"})
#: A CPU twin that has been measured is let run this long where the source names an accelerator, so that its twin is met.
TWIN_NS: Final = 8 * NS_PER_S
MILESTONE_NS: Final = NS_PER_S
CHOOSE_NS: Final = NS_PER_S // 4
#: After the timing the next steps are waited for this long; what comes between them (a validation) may take the rest of the day.
PATIENCE_AFTER_S: Final = 10.0
#: Bare `except:` clauses may swallow our ending; after this many edges the process ends where it stands.
MOST_RAISES: Final = 3


class Timing:
    """State of one timing pass in its child."""

    def __init__(self, spec: ChildSpec, clock: Callable[[], int], torch_version: str) -> None:
        self.spec, self.clock, self.pid = spec, clock, os.getpid()
        self.versions = {"python": platform.python_version(), "torch": torch_version, "platform": platform.platform()}
        self.steps: Steps | None = None
        self.named: Mapping[str, None] = {}
        self.batch = Batch()
        self.keras: KerasScript | None = None
        self.look_at_batch: Callable[[], object] = lambda: None
        self._paces: dict[int, Pace] = {}
        self._first_edge: int | None = None
        self._written = self._chosen = 0
        self._raised = 0
        self._timed: TimedPass | None = None
        self._patience: threading.Timer | None = None
        self.warnings: list[str] = []
        self.tail = Tail(lambda: [] if self.steps is None else self.steps.optimizers())

    def on_edge(self, series: Series, now: int) -> None:
        """A step ended: write down, and stop here if it is enough.

        Raises:
            StopAtEdge: it is enough.
        """
        if self._raised:
            self._stop()
        if self.tail.runs:
            if not self.tail.goes_on(series, now, self.clock):
                self._stop()
            return
        if self._first_edge is None:
            self._first_edge = now
            self.look_at_batch()
        pace = self._paces.get(id(series))
        if pace is None:
            pace = self._paces[id(series)] = Pace(Limits(self.spec.request.steps, self.spec.request.seconds))
        if pace.enough(series, now) and self._is_the_one(series, now):
            self._end_timing(series)
            return
        if now - self._written > MILESTONE_NS:
            self.save(ScriptEnd("killed", "ended before its end"))
            self._written = self.clock()
            if self.steps is not None:
                self.steps.shift(self._written - now)

    def finish(self, end: ScriptEnd) -> None:
        """The script has ended, somehow."""
        self.keras = keras_script.look()
        if self.spec.which == CPU and end.how in ("ok", "exit") and not self.tail.runs:
            self.tail.look()
        self.save(end)

    def save(self, end: ScriptEnd) -> None:
        """Write down what has been learned so far."""
        outcome.write(self.spec.folder, outcome.RESULT, self.result(end))

    def result(self, end: ScriptEnd) -> TimedPass:
        """What has been learned so far."""
        if self._timed is not None:
            return self._with_tail(self._timed)
        steps = self.steps
        best = [] if steps is None else steps.best()
        if end.how in ("ok", "exit") and steps is not None and steps.rank == MARKED:
            for series in best:
                series.close(self.clock(), steps.wait_ns)  # the last of the user's own steps ends with the script
        found = [s for s in best if s.samples]
        groups = [s.group(None if steps is None else steps.loop_line(s)) for s in found]
        unit, principal = self._principal(groups, end)
        if principal is not None and principal not in groups:
            groups.append(principal)
        segments = self._segments() if unit == "run" else ()
        timed = TimedPass(
            unit, principal, tuple(sorted(groups, key=lambda g: -g.total_ns)), end, self.batch.size,
            outcome.peak_rss_bytes(), tuple(self.named), torch_threads(), tuple(dict.fromkeys(self.warnings)), self.versions,
            segments,
        )  # fmt: skip
        return self._with_tail(timed)

    def _with_tail(self, timed: TimedPass) -> TimedPass:
        tail = self.tail
        return replace(
            timed,
            looked=tail.looked,
            decayed=tail.decayed,
            matched=tail.found.get(MATCHED),
            flushed=tail.found.get(FLUSHED),
            keras=self.keras,
        )

    def _principal(self, groups: list[StepGroup], end: ScriptEnd) -> tuple[str | None, StepGroup | None]:
        """The group with most time; one on the accelerator goes before its CPU twin."""
        if groups:
            best = max(groups, key=lambda g: (g.device != "cpu", g.total_ns))
            looped = best.place.kind == "loop" or (best.place.kind == "backward" and best.loop_line is None)
            return ("loop" if looped else "step"), best
        steps = self.steps
        if steps is None or not steps.log or end.failed:
            return None, None
        # A run that was cut off says something only where nothing in the source says that steps were still to come.
        cut_off = end.how == "timeout" and not (OPTIMIZERS | BACKWARDS) & steps.book.words
        if end.how in ("ok", "exit") or cut_off:
            whole = self.clock() - steps.log[0][1]
            return "run", StepGroup(Place("run", self.spec.request.target, 0), "", (whole,), (steps.wait_ns,), 0)
        return None, None

    def _segments(self) -> tuple[tuple[int, int], ...]:
        log = [] if self.steps is None else self.steps.log
        ends = [at for _line, at in log[1:]] + [self.clock()]
        return tuple((line, end - at) for (line, at), end in zip(log, ends, strict=True))

    def _is_the_one(self, series: Series, now: int) -> bool:
        """Whether this is the series to stop at, rather than one to wait past."""
        steps = self.steps
        if steps is None:
            return True
        waited = now - (self._first_edge or now)
        better = OPTIMIZERS | BACKWARDS if steps.rank == LOOP else OPTIMIZERS if steps.rank == BACKWARD else frozenset()
        if waited < PATIENCE_NS and better & steps.book.words:
            return False
        twin = steps.book.names_accelerator and series.device == "cpu"
        if twin and waited < TWIN_NS:
            return False
        if steps.rank == LOOP:
            if now - self._chosen < CHOOSE_NS:
                return False
            self._chosen = now
            best = steps.best()
            return bool(best) and best[0] is series
        return True

    def _end_timing(self, series: Series) -> None:
        """What has been timed stands from here on; some more steps may tell why it is as it is."""
        self.save(done := ScriptEnd("budget"))
        self._timed = self.result(done)
        if self.spec.which != CPU or self._timed.unit == "run" or not self.tail.begin(series, self.clock):
            self._stop()
        self._patience = threading.Timer(PATIENCE_AFTER_S, self._leave)
        self._patience.daemon = True
        self._patience.start()

    def _leave(self) -> None:
        """End here, where the script cannot be made to: what was timed stands."""
        self.save(ScriptEnd("budget"))
        os._exit(0)

    def _stop(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._raised += 1
        if self._raised > MOST_RAISES or threading.current_thread() is not threading.main_thread():
            self._leave()
        if self._raised == 1:
            self.save(ScriptEnd("budget"))
        raise StopAtEdge


def torch_threads() -> int | None:
    """Threads that PyTorch uses inside one operation; None: it is not loaded."""
    torch = sys.modules.get("torch")
    return None if torch is None else int(torch.get_num_threads())
