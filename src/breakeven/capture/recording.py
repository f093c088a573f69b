"""The recording pass: the user's script on the virtual GPU, recorded for a few steady steps of the kind that was timed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, Protocol

import polars as pl

from breakeven.capture import marks, outcome, stored
from breakeven.capture.request import ChildSpec, Plan, ScriptEnd
from breakeven.capture.result import VirtualPass
from breakeven.capture.series import Series
from breakeven.capture.steps import StopAtEdge
from breakeven.timeline import OpStream, schema
from breakeven.units import NS_PER_S

#: Steps that pass before recording begins: the first ones set up optimizer state and caches.
SKIPPED: Final = 2
MOST_RAISES: Final = 3
#: Steps longer than this are recorded once, after one; and those longer than that at once.
LONG_NS: Final = NS_PER_S
VERY_LONG_NS: Final = 6 * NS_PER_S
#: Time for which the script goes on unrecorded, so that what shows only later is noticed too: numbers that decay, and the second
#: reading of a clock that was started before a loop (which is read right after it: rounds are short and many).
OBSERVED_NS: Final = NS_PER_S // 2
OBSERVED_ROUNDS_NS: Final = 2 * NS_PER_S


class Recorder(Protocol):
    """What this pass needs of the virtual GPU's session (`capture/virtual/session.py`; tests have their own)."""

    @property
    def device_rows(self) -> int:
        """Operations seen on the device so far."""

    def start(self) -> None:
        """Begin recording, at a step's edge."""

    def edge(self) -> None:
        """A recorded step has ended."""

    def stop(self, *, unit: str = "step", batch: int | None = None) -> OpStream:
        """The frozen stream of the steps between `start` and the last `edge`."""


class Recording:
    """State of one recording pass in its child."""

    def __init__(self, spec: ChildSpec, session: Recorder, facts: Callable[[], object]) -> None:
        self.spec, self.session, self.facts, self.pid = spec, session, facts, os.getpid()
        self.plan = spec.plan
        self.warnings: list[str] = []
        self.recorded = 0
        self.stream: OpStream | None = None
        self.segments: tuple[int, ...] = ()
        self._started = self._done = self._long = False
        self._raised = self._until = 0
        self._first_segment = 0
        self._skip, self._wanted = _share(spec.plan, spec.request.recorded)

    def on_edge(self, series: Series, now: int) -> None:
        """An edge: begin, count or end.

        Raises:
            StopAtEdge: the steps wanted have been recorded.
        """
        if self._done:
            if now >= self._until:
                self._stop()
            return
        if not self._is_planned(series):
            return
        if self._started:
            self.session.edge()
            self.recorded += 1
            if self.recorded >= self._wanted:
                self._finish(series)
                self.save(ScriptEnd("budget"))
                self._until = now + self._observed_ns()
        elif series.edges >= self._skip:
            if len(series.samples) > 1 and series.samples[-1] > LONG_NS:  # than the plan, such as that of another cell, knew
                self._wanted, self._long = 1, True
            self._start()

    def _observed_ns(self) -> int:
        if self._long:
            return 0
        if self.plan is None or self.plan.step_ns < OBSERVED_NS:
            return OBSERVED_ROUNDS_NS if self.plan is not None and self.plan.unit == "loop" else OBSERVED_NS
        return 0

    def on_head(self, loop: marks.Loop) -> None:
        """A loop's head: where a single step is all there is, recording begins before it."""
        if self._skip or self._started or self.plan is None:
            return
        if loop.line == self.plan.loop_line and loop.file == self.plan.place.file:
            self._start()

    def on_statement(self, at: int) -> None:
        """A statement outside loops: where the run is the unit, each stretch between two is recorded as one step."""
        whole = self.plan is not None and self.plan.unit == "run"
        if not self._started:
            if whole or (self._skip == 0 and self.plan is not None and self.plan.loop_line is None):
                self._first_segment = at
                self._start()
        elif whole and not self._done:
            self.session.edge()

    def finish(self, end: ScriptEnd) -> None:
        """The script has ended, somehow: keep what was recorded."""
        if self._started and not self._done:
            if self.plan is not None and self.plan.unit == "run":
                self.session.edge()
            self._finish(None)
        self.save(end)

    def save(self, end: ScriptEnd) -> None:
        """Write down what was recorded."""
        facts = self.facts()
        stored.save_virtual(self.spec.folder, VirtualPass(
            self.stream, end, facts, tuple(self.warnings), outcome.peak_rss_bytes(), self.session.device_rows, self.segments,  # type: ignore[arg-type]
        ))  # fmt: skip

    def _start(self) -> None:
        self._started = True
        self.session.start()

    def _finish(self, series: Series | None) -> None:
        self._done = True
        unit = self.plan.unit if self.plan is not None else ("loop" if series and series.place.kind == "loop" else "step")
        batch = self.plan.batch if self.plan is not None else None
        stream = self.session.stop(unit=unit, batch=batch)
        if unit == "run":
            stream, steps = device_steps(stream)
            self.segments = tuple(step + self._first_segment for step in steps)
        self.stream = stream

    def _is_planned(self, series: Series) -> bool:
        if self.plan is None:
            return True
        place = self.plan.place
        same = (series.place.file, series.place.line) == (place.file, place.line)
        return same and (not self.plan.named_devices or not series.device or series.device == self.plan.device)

    def _stop(self) -> None:
        self._raised += 1
        if self._raised == 1 or self._raised > MOST_RAISES:
            self.save(ScriptEnd("budget"))
        if self._raised > MOST_RAISES or threading.current_thread() is not threading.main_thread():
            os._exit(0)
        raise StopAtEdge


def device_steps(stream: OpStream) -> tuple[OpStream, tuple[int, ...]]:
    """Only the steps that hold work for the device, joined into one; and which they were."""
    table = stream.table()
    step, device = schema.ROW_STEP.name, schema.CALL_DEVICE.name
    on_device = (pl.col(device) != "cpu") | (pl.col(schema.CALL_KIND.name) != schema.Kind.COMPUTE)
    moved = pl.col(schema.CALL_KIND.name).is_in([schema.Kind.COPY, schema.Kind.SYNC, schema.Kind.COMPUTE])
    steps = table.filter(on_device & moved)[step].unique().sort()
    kept = stream.rows.with_row_index("_at").filter(pl.col(step).is_in(steps.implode()))
    new = {old: at for at, old in enumerate(kept["_at"].to_list())}
    waits = [new.get(row, -1) if row >= 0 else -1 for row in kept[schema.ROW_WAITS.name].to_list()]
    rows = kept.drop("_at").with_columns(
        pl.Series(schema.ROW_WAITS.name, waits, dtype=schema.ROW_WAITS.dtype),
        pl.lit(0, dtype=schema.ROW_STEP.dtype).alias(step),
    )
    joined = OpStream(stream.calls, rows, stream.sites, 1, stream.unit, stream.batch, stream.warnings)
    return joined, tuple(int(s) for s in steps.to_list())


def _share(plan: Plan | None, wanted: int) -> tuple[int, int]:
    """How many edges pass before recording, and how many steps are recorded: fewer of both where steps are few or long.

    No edge passes where a single step is all there is: then recording begins at the head of its loop.
    """
    if plan is None:
        return SKIPPED, wanted
    if plan.edges <= 1 or plan.step_ns > VERY_LONG_NS:
        return 0, 1
    if plan.step_ns > LONG_NS:
        return 1, 1
    return max(1, min(SKIPPED, plan.edges - wanted)), min(wanted, plan.edges - 1)
