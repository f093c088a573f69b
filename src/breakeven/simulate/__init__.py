"""OpStream × costs × machine → Timeline: deterministic, whole nanoseconds; a heap and an array path that agree."""

from __future__ import annotations

from breakeven.simulate.arrays import Ends, edges, ends, step_ns
from breakeven.simulate.draws import Factors, StepPrediction, call_factors, step_ms
from breakeven.simulate.record import run
from breakeven.simulate.schedule import QUEUE_LIMIT, Engine, Loader, Schedule, plain, schedule

__all__ = [
    "QUEUE_LIMIT", "Ends", "Engine", "Factors", "Loader", "Schedule", "StepPrediction", "call_factors", "edges", "ends",
    "plain", "run", "schedule", "step_ms", "step_ns",
]  # fmt: skip
