"""Whether a reported time can be believed: what a step would take on another CPU, and what a host's speed must be for it."""

from __future__ import annotations

from breakeven.diagnose.evidence import CpuSide
from breakeven.diagnose.wording import ms, percent
from breakeven.machine.hosts import SAME_HOST, SAME_HOST_ERROR, hosts
from breakeven.machine.records import Gpu, Host
from breakeven.models.arithmetic import at_peak_ms, in_millions, step_flops
from breakeven.models.network import Model
from breakeven.results import DeviceResult, Interval
from breakeven.results.asked import Claim

#: Part of a step that has to be Python and dispatch for its length to say how fast a host issues work.
TELLING = 0.5

#: How many times as much arithmetic and memory traffic another machine's CPU may do than this one's: assumed, as cores differ.
MOST_CORES = 16.0

_REGIMES = {
    "launch": "the GPU mostly waits for the host to issue work: the step is as fast as the host's Python, not as the GPU",
    "sync": "the GPU mostly waits because the host stopped to wait for a result",
    "copy": "copies between main memory and the GPU take most of the step",
    "input": "the GPU mostly waits for the next batch",
    "small_kernel": "the kernels are too small to fill the GPU",
    "compute": "arithmetic limits the step, as it should on a GPU",
    "bandwidth": "the GPU's memory traffic limits the step",
}


def elsewhere(here: CpuSide, own: Host, other: Host | None) -> Interval:
    """What the step measured here would take on another machine's CPU, ms.

    Python and dispatch go with the host's speed: the preset's range, or that of all presets. The rest is arithmetic and memory,
    whose speed also goes with cores that nobody counted: `MOST_CORES` times as many at best, as many as here at worst.

    Args:
        here: the step measured here, with its account.
        own: this machine as a host.
        other: the machine in question; None: any.
    """
    assert here.step_ms is not None
    step = here.step_ms
    ours = own.own_scale or own.scale_mid
    if other is not None and other.name == own.name:
        return step
    low = (other.scale_low if other else min(h.scale_low for h in hosts())) / ours
    high = (other.scale_high if other else max(h.scale_high for h in hosts())) / ours
    mid = other.scale_mid / ours if other else 1.0
    overhead = sum(share.ms for share in here.account if share.cause in ("overhead", "input"))
    overhead = overhead if here.account else step.mid
    rest = max(0.0, step.mid - overhead)
    least = overhead * low + rest * min(1.0, low) / MOST_CORES
    likely, most = overhead * mid + rest, (overhead + rest) * max(1.0, high)
    return Interval(min(least, likely), likely, max(most, likely, step.high))


def host_of_claim(claimed_ms: float, here: CpuSide, own: Host) -> Host:
    """The host that a reported CPU time speaks of: as much faster or slower at dispatching as the step is, where it is dispatch.

    Where less than half of the step here is Python and dispatch, its length does not tell: the presets' whole range.
    """
    assert here.step_ms is not None
    low, high = min(h.scale_low for h in hosts()), max(h.scale_high for h in hosts())
    overhead = sum(share.share for share in here.account if share.cause in ("overhead", "input"))
    if overhead < TELLING:
        return Host("not known", low, own.scale_mid, max(high, own.scale_mid), "the range of all presets")
    ours = own.own_scale or own.scale_mid
    scale = min(max(ours * claimed_ms / here.step_ms.mid, low), high)
    mid = scale * SAME_HOST
    ratio = claimed_ms / here.step_ms.mid
    source = f"the reported CPU time: {ratio:.2g} times as long as here; issuing to a GPU against it: {SAME_HOST}"
    return Host("as the reported CPU time says", mid / SAME_HOST_ERROR, mid, mid * SAME_HOST_ERROR, source, own_scale=scale)


def judged(device: str, claimed_ms: float, expected: Interval) -> Claim:
    """A reported time beside the expected range."""
    plausible = expected.low <= claimed_ms <= expected.high
    who = "a CPU" if device == "cpu" else f"a {device}"
    around = f"{ms(expected.low)} to {ms(expected.high)}"
    if plausible:
        sentence = f"{ms(claimed_ms)} a step is plausible on {who}: {around} can be expected."
    elif claimed_ms < expected.low:
        sentence = (
            f"{ms(claimed_ms)} a step is too fast to be believed on {who}, where {around} can be expected: "
            f"was the result waited for, and is it the same network?"
        )
    else:
        sentence = (
            f"{ms(claimed_ms)} a step is slower than {who} needs ({around}): something else takes time, such as reading data, "
            f"logging, or too many threads."
        )
    return Claim(device, claimed_ms, expected, plausible, sentence)


def regime(device: DeviceResult, model: Model, gpu: Gpu, claimed_ms: float | None) -> tuple[str | None, str]:
    """The largest part of the GPU's step, and a sentence on it that also says how little of the time is arithmetic."""
    largest = max(device.account, key=lambda share: share.ms, default=None)
    cause = largest.cause if largest is not None else None
    words = _REGIMES.get(cause or "", "no single cause stands out")
    part = f" ({percent(largest.share)} of it)" if largest is not None else ""
    said = words[:1].upper() + words[1:] + part + "."
    flops = step_flops(model)
    step = claimed_ms if claimed_ms is not None else device.step_ms.mid if device.step_ms else None
    needs = at_peak_ms(flops, gpu)
    if needs is None or step is None:
        return cause, said
    whose = "reported" if claimed_ms is not None else "predicted"
    return cause, (
        f"{said} Of the {whose} {ms(step)} the arithmetic ({in_millions(flops)}) needs {ms(needs)} at the "
        f"{gpu.name}'s peak; a GPU usage of 80-100 % in a task manager only says that some kernel was running when it looked."
    )
