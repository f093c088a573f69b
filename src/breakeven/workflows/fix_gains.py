"""What `fix` expects of each remedy before it is tried: simulated on the asked GPU, or worked out for this machine's CPU.

On a GPU gains do not add: the stream with the kept remedies in it is rewritten once more, and simulated again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from breakeven.costs.host_model import host_model
from breakeven.diagnose.pricing import Pricing, difference, pricing_for
from breakeven.machine.gpus import find_gpu
from breakeven.machine.hosts import find_host
from breakeven.remedies import REMEDIES
from breakeven.results import Interval
from breakeven.timeline import OpStream
from breakeven.workflows.cpu_gains import FEEDING, CpuStep, cpu_gain
from breakeven.workflows.cpu_side import cpu_side, input_ns, recorded, threads_of
from breakeven.workflows.plausible import host_of_claim
from breakeven.workflows.probing import probed_cpu

#: (remedy, those carried out before it) → what a step saves, ms; None: it cannot be said.
GainOf = Callable[[str, Sequence[str]], "Interval | None"]


@dataclass(frozen=True)
class Gains:
    """Predictions for one device.

    Attributes:
        device: its name; `cpu` for this machine's.
        step_ms: a step as it is.
        gain: what a remedy saves beside others.
        machine: what was probed.
        versions: of torch.
        warnings: what could not be said.
        unseen: remedies of something that was looked for and is not there, each with that in words.
    """

    device: str
    step_ms: Interval | None
    gain: GainOf
    machine: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON values
    versions: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unseen: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def none(cls, gpu: str | None) -> Gains:
        """Nothing is to be predicted."""
        return cls("cpu" if gpu is None else find_gpu(gpu).name, None, lambda name, kept: None)

    @property
    def step(self) -> float | None:
        """The middle of a step, ms."""
        return None if self.step_ms is None else self.step_ms.mid

    def best(self, names: Sequence[str], kept: Sequence[str]) -> str:
        """The remedy with the largest gain beside those kept; those without a prediction come last, in their order."""
        found = [(name, self.gain(name, kept)) for name in names]
        known = [(gain.mid, name) for name, gain in found if gain is not None]
        return max(known)[1] if known else names[0]

    def speedup(self, kept: Sequence[str]) -> Interval | None:
        """How many times faster a step is with all of these; None: one of them cannot be predicted."""
        saved = [self.gain(name, kept[:at]) for at, name in enumerate(kept)]
        step = self.step_ms
        if step is None or not saved or any(one is None for one in saved):
            return None
        known = [one for one in saved if one is not None]
        low, mid, high = (sum(getattr(one, end) for one in known) for end in ("low", "mid", "high"))
        ratios = [step.mid / max(step.mid - part, 1e-3 * step.mid) for part in (low, mid, high)]
        return Interval(min(ratios), ratios[1], max(ratios))


def gains_for(
    asked: CaptureRequest, gpu_name: str | None, able: Mapping[str, tuple[str, str]], tell: Callable[[str], None],
    cpu_reported_ms: float | None = None,
) -> Gains:  # fmt: skip
    """Run the script once and price what each of these remedies would save.

    Args:
        asked: how the script is called.
        gpu_name: the GPU; None: this machine's CPU.
        able: remedies that can be carried out, each with the script's text before and after it.
        tell: told what is being done.
        cpu_reported_ms: a step on the CPU of the machine that has the GPU, as someone reported it: it says how fast that host is.

    Raises:
        InputError, ScriptFailed, NoAnswer: as `why`.
    """
    gpu = find_gpu(gpu_name or "Tesla T4")  # for the CPU any device's costs serve
    tell("running the script as it is")
    caught = capture(asked)
    cpu, doubts = probed_cpu()
    error = caught.error()
    stream = recorded(caught)
    side = cpu_side(caught.cpu, stream, cpu, gpu)
    if error is not None and (stream is None or side.step_ms is None):
        raise error
    versions = dict(caught.cpu.versions) if caught.cpu is not None else {}
    machine = {"cpu": asdict(cpu)}
    if gpu_name is None:
        own = None if side.step_ms is None else CpuStep(side.step_ms, stream, input_ns(caught.cpu), threads_of(caught.cpu), asked)
        return Gains("cpu", side.step_ms, _on_cpu(own, able), machine, versions, doubts, _unseen(caught))
    if stream is None:
        return Gains(gpu.name, None, lambda name, kept: None, machine, versions, doubts)
    host = find_host("this machine", cpu, host_model().dispatch_us)
    if cpu_reported_ms is not None and side.step_ms is not None:
        host = host_of_claim(cpu_reported_ms, side, host)
    pricing = pricing_for(stream, gpu, cpu_step_ms=side.step_ms, cpu=cpu, host=host)
    now = pricing.step(stream)
    return Gains(
        gpu.name, Interval(now.low, now.mid, now.high), _simulated(stream, pricing), machine, versions, doubts, _unseen(caught)
    )


def _unseen(caught: CaptureResult) -> dict[str, str]:
    """Remedies of what the recording looked for and did not find."""
    decayed = caught.cpu is not None and caught.cpu.decayed
    if caught.virtual is None or caught.virtual.facts.get("denormals") or decayed:
        return {}
    return {"flush_denormals": "no denormal numbers were seen, neither in the steps that were recorded nor when the timing ended"}


def _on_cpu(step: CpuStep | None, able: Mapping[str, tuple[str, str]]) -> GainOf:
    """Gains on this machine's CPU, each worked out once."""
    known: dict[tuple[str, bool], Interval | None] = {}

    def gain(name: str, kept: Sequence[str]) -> Interval | None:
        if step is None or name not in able:
            return None
        key = (name, bool(FEEDING & set(kept)))
        if key not in known:
            known[key] = cpu_gain(step, name, *able[name], kept)
        return known[key]

    return gain


def _simulated(stream: OpStream, pricing: Pricing[Any]) -> GainOf:  # Any: the costs of any device
    """Gains on a GPU by simulating rewritten streams, each once."""
    streams: dict[tuple[str, ...], OpStream] = {(): stream}
    steps: dict[tuple[str, ...], Any] = {}  # Any: predictions with draws

    def rewritten(names: tuple[str, ...]) -> OpStream:
        if names not in streams:
            rewrite = REMEDIES[names[-1]].rewrite
            before = rewritten(names[:-1])
            streams[names] = before if rewrite is None else rewrite(before)
        return streams[names]

    def step(names: tuple[str, ...]) -> Any:  # as above
        if names not in steps:
            steps[names] = pricing.step(rewritten(names))
        return steps[names]

    def gain(name: str, kept: Sequence[str]) -> Interval | None:
        if REMEDIES[name].rewrite is None:
            return None
        before, after = step(tuple(kept)), step((*kept, name))
        both = min(len(before.draws), len(after.draws))
        return difference(before.mid - after.mid, before.draws[:both] - after.draws[:both])

    return gain
