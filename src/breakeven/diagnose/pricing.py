"""Pricing: how streams are simulated for one GPU in one diagnosis, so that what a rewrite saves is a fair difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from breakeven.costs.calls import CallCosts, price_calls
from breakeven.costs.host import HostTimes, host_rate, times_at
from breakeven.diagnose.evidence import Price, RowTimes
from breakeven.machine.records import Cpu, Gpu, Host
from breakeven.results.records import Interval
from breakeven.simulate import StepPrediction, schedule, step_ms, step_ns
from breakeven.simulate.inputs import CallPrices, HostSide
from breakeven.timeline import OpStream, edit, schema
from breakeven.units import NS_PER_MS
from breakeven.whatif.cuda_graph import GRAPH

#: Rows from which on a rewrite is priced without draws: about a second each with them, and a report prices some dozens.
MANY_ROWS = 20_000

Costs = TypeVar("Costs", bound=CallPrices)


@dataclass(frozen=True)
class Pricing(Generic[Costs]):
    """One GPU in one host, with fixed worlds: the same seed for every stream.

    Attributes:
        costs: prices of a stream's distinct calls on this GPU.
        host: the host's times for a stream. It must use the host's speed as found from the *recorded* stream, whatever
            stream it is asked about: a rewritten stream was never measured.
        draws: worlds.
        seed: of the worlds.
        scale_log_sigma: uncertainty (log scale) of the host's speed.
        spread: width of a step's draws about its middle (log scale), relative to what the prices' own intervals give.
    """

    costs: Callable[[OpStream], Costs]
    host: Callable[[OpStream, Costs], HostSide]
    draws: int = 200
    seed: int = 0
    scale_log_sigma: float = 0.0
    spread: float = 1.0

    def step(self, stream: OpStream) -> StepPrediction:
        """The step of a stream, with its draws."""
        costs = self.costs(stream)
        host = self.host(stream, costs)
        step = step_ms(stream, costs, host, draws=self.draws, seed=self.seed, scale_log_sigma=self.scale_log_sigma)
        return step if self.spread == 1.0 or step.mid <= 0 else _drawn_together(step, self.spread)

    def middle(self, stream: OpStream) -> float:
        """The step of a stream in ms at the middle of all prices, without draws."""
        costs = self.costs(stream)
        return float(step_ns(schedule(stream, costs, self.host(stream, costs)))[0]) / NS_PER_MS

    def scaled(self, base: StepPrediction) -> Callable[[OpStream], StepPrediction]:
        """Predicts other sizes of a stream: with draws of their own, or, for more than `MANY_ROWS` rows, with those of `base`.

        The errors that all rows share decide the width of a long stream's interval, and they are the same at every size.
        """

        def step(stream: OpStream) -> StepPrediction:
            if len(stream) <= MANY_ROWS or base.mid <= 0:
                return self.step(stream)
            factor = self.middle(stream) / base.mid
            return StepPrediction(base.low * factor, base.mid * factor, base.high * factor, base.draws * factor)

        return step

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


def pricing_for(
    stream: OpStream, gpu: Gpu, *, cpu_step_ms: Interval | None, cpu: Cpu, host: Host, draws: int = 200, seed: int = 0
) -> Pricing[CallCosts]:
    """How streams are priced for one GPU of the catalog, given what was recorded and measured.

    Args:
        stream: the recorded stream: the host's rate is found from it and the measured step, once.
        gpu: the device.
        cpu_step_ms: the measured step on the CPU; None: not measured.
        cpu: the CPU that it ran on.
        host: the machine that the GPU sits in.
        draws: worlds.
        seed: of the worlds.
    """
    recorded = price_calls(stream.calls, gpu)
    rate = host_rate(stream, recorded, cpu_step_ns=_scaled(cpu_step_ms, NS_PER_MS), cpu=cpu, host=host)

    def host_of(asked: OpStream, costs: CallCosts) -> HostTimes:
        times = times_at(asked, costs, rate)
        replayed = edit.marked(asked, [bool(edit.values_of(call).get(GRAPH)) for call in edit.calls_of(asked)])
        return replace(times, issue_ns=np.where(replayed, 0.0, times.issue_ns))

    return Pricing(lambda asked: price_calls(asked.calls, gpu), host_of, draws, seed)


def _drawn_together(step: StepPrediction, spread: float) -> StepPrediction:
    """The same middle with draws closer to it."""
    low, high = (step.mid * (value / step.mid) ** spread for value in (step.low, step.high))
    return StepPrediction(low, step.mid, high, step.mid * (step.draws / step.mid) ** spread)


def _scaled(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else Interval(interval.low * factor, interval.mid * factor, interval.high * factor)
