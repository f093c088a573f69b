"""One GPU's step as a result: its predicted time, and the account of the simulated timeline."""

from __future__ import annotations

from breakeven.costs.calls import CallCosts
from breakeven.diagnose.account import account
from breakeven.diagnose.pricing import Pricing
from breakeven.results.records import DeviceResult, Interval, Share
from breakeven.simulate import StepPrediction, run, schedule
from breakeven.timeline import OpStream


def forecast(name: str, stream: OpStream, pricing: Pricing[CallCosts], step: StepPrediction) -> DeviceResult:
    """The device's step with its interval and its account, which sums to the middle.

    Args:
        name: of the device, as the catalog has it.
        stream: what the step asks for.
        pricing: how it is priced.
        step: the prediction of that stream by that pricing.

    Returns:
        The result; without a time where nothing of the step takes any.
    """
    if step.mid <= 0:
        return DeviceResult(name, "gpu", "predicted", None)
    return DeviceResult(name, "gpu", "predicted", Interval(step.low, step.mid, step.high), _account(stream, pricing, step.mid))


def _account(stream: OpStream, pricing: Pricing[CallCosts], step_ms: float) -> tuple[Share, ...]:
    costs = pricing.costs(stream)
    timeline = run(schedule(stream, costs, pricing.host(stream, costs)))
    devices = [lane.device for lane in timeline.lanes if lane.kind in ("stream", "copy")]
    if not devices:
        return ()
    parts = account(timeline, devices[0]).mean_shares()
    whole = sum(part.share for part in parts) or 1.0
    return tuple(Share(part.cause, step_ms * part.share / whole, part.share / whole) for part in parts)
