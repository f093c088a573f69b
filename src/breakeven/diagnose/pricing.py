"""Pricing: how streams are simulated for one GPU in one diagnosis, so that what a rewrite saves is a fair difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from breakeven.diagnose.evidence import Price, RowTimes
from breakeven.results.records import Interval
from breakeven.simulate import StepPrediction, schedule, step_ms, step_ns
from breakeven.simulate.inputs import CallPrices, HostSide
from breakeven.timeline import OpStream, edit, schema
from breakeven.units import NS_PER_MS

#: Rows from which on a rewrite is priced without draws: about a second each with them, and a report prices some dozens.
MANY_ROWS = 20_000


@dataclass(frozen=True)
class Pricing:
    """One GPU in one host, with fixed worlds: the same seed for every stream.

    Attributes:
        costs: prices of a stream's distinct calls on this GPU.
        host: the host's times for a stream. It must use the host's speed as found from the *recorded* stream, whatever
            stream it is asked about: a rewritten stream was never measured.
        draws: worlds.
        seed: of the worlds.
        scale_log_sigma: uncertainty (log scale) of the host's speed.
    """

    costs: Callable[[OpStream], CallPrices]
    host: Callable[[OpStream, CallPrices], HostSide]
    draws: int = 200
    seed: int = 0
    scale_log_sigma: float = 0.0

    def step(self, stream: OpStream) -> StepPrediction:
        """The step of a stream, with its draws."""
        costs = self.costs(stream)
        host = self.host(stream, costs)
        return step_ms(stream, costs, host, draws=self.draws, seed=self.seed, scale_log_sigma=self.scale_log_sigma)

    def middle(self, stream: OpStream) -> float:
        """The step of a stream in ms at the middle of all prices, without draws."""
        costs = self.costs(stream)
        return float(step_ns(schedule(stream, costs, self.host(stream, costs)))[0]) / NS_PER_MS

    def price(self, base: StepPrediction) -> Price:
        """What rewritten streams save against this step, draw by draw.

        A stream of more than `MANY_ROWS` rows is simulated at the middle only, and its price gets the step's own relative
        interval: the errors that all rows share, which decide the width, are the same.
        """

        def saved(rewritten: OpStream, per: float = 1.0) -> Interval:
            if len(rewritten) > MANY_ROWS:
                mid = base.mid - self.middle(rewritten) / per
                ends = sorted((mid * base.low / base.mid, mid * base.high / base.mid)) if base.mid > 0 else [mid, mid]
                return Interval(ends[0], mid, ends[1])
            step = self.step(rewritten)
            both = min(len(base.draws), len(step.draws))
            return difference(base.mid - step.mid / per, base.draws[:both] - step.draws[:both] / per)

        return saved

    def rows(self, stream: OpStream) -> RowTimes:
        """What each row of a stream costs at the middle of its price."""
        costs = self.costs(stream)
        host = self.host(stream, costs)
        call = edit.column(stream, schema.ROW_CALL)
        runs = costs.engine != ""
        return RowTimes(
            host_ns=np.nan_to_num(host.before_ns) + np.nan_to_num(host.issue_ns),
            issue_ns=np.nan_to_num(host.issue_ns),
            device_ns=np.where(runs, np.nan_to_num(costs.device_ns[1]), 0.0)[call],
            kernels=costs.kernels[call],
        )


def difference(mid: float, draws: np.typing.NDArray[np.float64]) -> Interval:
    """A 90 % interval from draws around a given middle, which it always holds."""
    low, high = np.quantile(draws, [0.05, 0.95]) if len(draws) else (mid, mid)
    return Interval(min(float(low), mid), mid, max(float(high), mid))
