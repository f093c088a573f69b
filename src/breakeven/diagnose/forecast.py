"""One GPU's step, forecast: priced, simulated and accounted for, with the question "and what if" kept open.

What it does not know: anything that the stream and the prices do not say; the warnings of the stream travel with the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from breakeven.costs.calls import CallCosts, price_calls
from breakeven.costs.host import HostTimes
from breakeven.diagnose.account import account
from breakeven.diagnose.evidence import RowTimes
from breakeven.machine.records import Gpu
from breakeven.results.records import DeviceResult, Interval, Share
from breakeven.simulate import StepPrediction, run, schedule, step_ms
from breakeven.timeline import OpStream, schema
from breakeven.timeline.edit import column

#: Host times of a stream (recorded or rewritten) on the machine that the GPU sits in.
HostOf = Callable[[OpStream, CallCosts], HostTimes]

#: Draws of a forecast: enough for the ends of a 90 % interval to stand within a few per cent.
DRAWS = 400


@dataclass(frozen=True)
class Forecast:
    """A GPU's step.

    Attributes:
        gpu: the device.
        stream: what the step asks for.
        host_of: host times of any stream on this machine.
        scale_log_sigma: uncertainty (log scale) of the host's speed, where it is another one than was measured.
    """

    gpu: Gpu
    stream: OpStream
    host_of: HostOf
    scale_log_sigma: float = 0.0

    @cached_property
    def costs(self) -> CallCosts:
        """Prices of the stream's distinct calls."""
        return price_calls(self.stream.calls, self.gpu)

    @cached_property
    def host(self) -> HostTimes:
        """Host times of the stream's rows."""
        return self.host_of(self.stream, self.costs)

    @cached_property
    def prediction(self) -> StepPrediction:
        """The step's time with its draws."""
        return step_ms(self.stream, self.costs, self.host, draws=DRAWS, scale_log_sigma=self.scale_log_sigma)

    def step(self, stream: OpStream) -> StepPrediction:
        """Another stream's step on the same machine, with common draws."""
        costs = price_calls(stream.calls, self.gpu)
        host = self.host_of(stream, costs)
        return step_ms(stream, costs, host, draws=DRAWS, scale_log_sigma=self.scale_log_sigma)

    def price(self, rewritten: OpStream, per: float = 1.0) -> Interval:
        """Milliseconds saved per recorded step (`evidence.Price`)."""
        after = self.step(rewritten)
        count = min(len(self.prediction.draws), len(after.draws))
        saved = self.prediction.draws[:count] - after.draws[:count] / per
        low, high = (float(q) for q in np.quantile(saved, [0.05, 0.95]))
        mid = self.prediction.mid - after.mid / per
        return Interval(min(low, mid), mid, max(high, mid))

    @cached_property
    def device(self) -> DeviceResult:
        """The result: the step with its interval, and its account, which sums to the middle."""
        step = self.prediction
        if step.mid <= 0:
            return DeviceResult(self.gpu.name, "gpu", "predicted", None)
        return DeviceResult(self.gpu.name, "gpu", "predicted", Interval(step.low, step.mid, step.high), self._account(step.mid))

    def _account(self, step: float) -> tuple[Share, ...]:
        timeline = run(schedule(self.stream, self.costs, self.host))
        devices = [lane.device for lane in timeline.lanes if lane.kind in ("stream", "copy")]
        if not devices:
            return ()
        parts = account(timeline, devices[0]).mean_shares()
        whole = sum(part.share for part in parts) or 1.0
        return tuple(Share(part.cause, step * part.share / whole, part.share / whole) for part in parts)

    @cached_property
    def times(self) -> RowTimes:
        """What each row costs at the middle of its price."""
        call = column(self.stream, schema.ROW_CALL)
        return RowTimes(
            host_ns=self.host.before_ns + self.host.issue_ns,
            issue_ns=self.host.issue_ns,
            device_ns=self.costs.device_ns[1][call],
            kernels=self.costs.kernels[call],
        )
