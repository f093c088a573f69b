"""A real accelerator's side of an answer: its measured step; where the time goes is simulated, and held to what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

from breakeven.capture.request import TimedPass
from breakeven.costs.calls import CallCosts
from breakeven.diagnose.correction import scaled
from breakeven.diagnose.pricing import Pricing
from breakeven.diagnose.verdict import draws_of
from breakeven.machine.gpus import known_gpu
from breakeven.machine.records import Gpu
from breakeven.results import DeviceResult, Interval, Share
from breakeven.simulate import StepPrediction
from breakeven.timeline import OpStream
from breakeven.units import NS_PER_MS
from breakeven.workflows.cpu_side import step_of


@dataclass(frozen=True)
class DeviceSide:
    """What was measured on the accelerator of this machine.

    Attributes:
        name: as the catalog has it, else as its driver does.
        step_ms: one step, synchronised at its edges.
        gpu: its entry in the catalog; None: it has none, so nothing can be said of where its time goes.
    """

    name: str
    step_ms: Interval
    gpu: Gpu | None


def device_side(timed: TimedPass | None, name: str | None) -> DeviceSide | None:
    """The measured side; None: there is no accelerator, or nothing could be timed on it."""
    step = step_of(timed)
    if step is None or name is None:
        return None
    gpu = known_gpu(name)
    in_ms = Interval(step.low / NS_PER_MS, step.mid / NS_PER_MS, step.high / NS_PER_MS)
    return DeviceSide(gpu.name if gpu is not None else name, in_ms, gpu)


def held_to(side: DeviceSide, pricing: Pricing[CallCosts], stream: OpStream) -> Pricing[CallCosts]:
    """The pricing with all its times multiplied so that the recorded step takes what was measured."""
    usual = pricing.middle(stream)
    if usual <= 0:
        return pricing
    factor = side.step_ms.mid / usual
    return scaled(pricing, factor, factor)


def measured_step(side: DeviceSide, step: StepPrediction) -> StepPrediction:
    """The step with the measured interval in place of the predicted one."""
    told = side.step_ms
    return StepPrediction(told.low, told.mid, told.high, draws_of(told, len(step.draws)))


def as_measured(device: DeviceResult, side: DeviceSide) -> DeviceResult:
    """The result as a measured one; the account keeps its shares."""
    whole = side.step_ms.mid
    return replace(
        device, source="measured", step_ms=side.step_ms,
        account=tuple(Share(part.cause, whole * part.share, part.share) for part in device.account),
    )  # fmt: skip


def said_of(side: DeviceSide | None, timed: TimedPass | None, name: str | None) -> tuple[str, ...]:
    """What to know about a measured device's account, or that it could not be measured."""
    heard = timed.warnings if timed is not None else ()
    if side is None:
        if timed is None or name is None:
            return ()
        return (f"The step on the {name} could not be timed: {timed.end.text or 'no step ended there'}.", *heard)
    if side.gpu is None:
        return (f"{side.name} is not in the catalog: its step was measured, and where the time goes is not known.", *heard)
    return (f"The step on the {side.name} was measured; where its time goes is simulated and scaled to that.", *heard)
