"""The CPU's side of an answer: the measured step with its interval, and where it goes."""

from __future__ import annotations

from breakeven.capture.request import TimedPass
from breakeven.results import Interval
from breakeven.stats import Estimate, estimate
from breakeven.units import NS_PER_MS


def step_of(timed: TimedPass | None) -> Estimate | None:
    """The measured step in ns; None: nothing was measured."""
    if timed is None or timed.principal is None:
        return None
    samples = timed.principal.measured_ns or timed.principal.samples_ns
    return estimate(samples, skip_warmup=False) if samples else None


def in_ms(step: Estimate) -> Interval:
    """An estimate in ns as an interval in ms."""
    return Interval(step.low / NS_PER_MS, step.mid / NS_PER_MS, step.high / NS_PER_MS)


def in_ns(step: Estimate) -> Interval:
    """An estimate in ns as an interval in ns."""
    return Interval(step.low, step.mid, step.high)
