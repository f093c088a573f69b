"""`why`: runs the script on the CPU and on the virtual GPU, prices what it recorded, and answers.

What it does not know: how the training behaves after the steps that were run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace

import msgspec

from breakeven import __version__
from breakeven.capture.request import CaptureRequest
from breakeven.capture.result import CaptureResult
from breakeven.capture.run import capture
from breakeven.costs.calls import CallCosts
from breakeven.costs.host_model import host_model
from breakeven.diagnose.break_even import break_even
from breakeven.diagnose.correction import corrected
from breakeven.diagnose.evidence import CpuSide, Evidence
from breakeven.diagnose.findings import findings
from breakeven.diagnose.forecast import forecast
from breakeven.diagnose.pricing import Pricing, pricing_for
from breakeven.diagnose.sizes import Ground
from breakeven.diagnose.verdict import draws_of, verdict
from breakeven.machine.gpus import find_gpu
from breakeven.machine.hosts import THIS_MACHINE, find_host
from breakeven.machine.records import Cpu, Gpu, Host
from breakeven.measure.disturbance import now
from breakeven.measure.present import SYNCHRONISE
from breakeven.models.keras.recurrence import path_in_a_script
from breakeven.results import BreakEven, DeviceResult, Verdict, WhyReport
from breakeven.results.facts import Facts, Threads, facts_of
from breakeven.stats import Estimate
from breakeven.timeline import OpStream
from breakeven.workflows.advice import gains
from breakeven.workflows.cards import check_cards, correction_for, said_of_cards
from breakeven.workflows.cpu_side import cpu_side, denormals_of, recorded, step_of
from breakeven.workflows.device_side import DeviceSide, as_measured, device_side, held_to, measured_step, said_of
from breakeven.workflows.probing import Probed, probed
from breakeven.workflows.progress import in_words

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class WhyRequest:
    """What is asked.

    Attributes:
        script: path of a script, or a module's dotted name.
        args: the script's own arguments.
        gpus: names of the catalog, at least one; each is predicted.
        host: the machine that the GPUs sit in; None: this one.
        steps: after how many to stop, counted once warmed up; None: until the figure is steady.
        seconds: longest time to time them; None: by the length of a step.
        mark: `FILE:LINE` that runs once in each step; None: steps are found.
        quiet: do not show what the script prints.
        named: the user named the GPUs: they are predicted even where a real one is measured.
    """

    script: str
    args: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ("Tesla T4",)
    host: str | None = None
    steps: int | None = None
    seconds: float | None = None
    mark: str | None = None
    quiet: bool = False
    named: bool = True


def why(request: WhyRequest, on_progress: OnProgress = lambda text: None) -> WhyReport:
    """Answer which device the script should run on, why, and what to change: the report of `answered`."""
    return answered(request, on_progress).report


def answered(request: WhyRequest, on_progress: OnProgress = lambda text: None) -> Answered:
    """Answer which device the script should run on, why, and what to change.

    Returns:
        The report, with `failed` set where the script failed or was interrupted, holding what was learned before; and what
        stands behind it.

    Raises:
        InputError: the script, a GPU or the host does not exist.
        NoAnswer: nothing ran that could be timed.
    """
    gpus = [find_gpu(name) for name in request.gpus]
    check_cards(gpu.name for gpu in gpus)
    found: list[Probed] = []
    began = now()

    def look() -> str | None:
        found.append(probed(began))
        return SYNCHRONISE if found[0].accelerator is not None else None

    caught = capture(_asked(request), in_words(on_progress), look)
    here = found[0] if found else probed()
    host = find_host(request.host or "this machine", here.cpu, host_model().dispatch_us)
    on_progress("pricing what was recorded")
    return _answer(request, caught, _Machine(here.cpu, host, gpus), here)


@dataclass(frozen=True)
class Priced:
    """One predicted device: how it was priced without the user's card, what was told, and what that stands on."""

    device: DeviceResult
    plain: Pricing[CallCosts]
    ground: Ground


@dataclass(frozen=True)
class Answered:
    """An answer and what stands behind it; `stream` None: nothing was recorded."""

    report: WhyReport
    stream: OpStream | None
    host: str
    priced: tuple[Priced, ...] = ()


@dataclass(frozen=True)
class _Machine:
    cpu: Cpu
    host: Host
    gpus: list[Gpu]


@dataclass(frozen=True)
class _Judged:
    """One GPU's forecast, judged."""

    evidence: Evidence
    verdict: Verdict
    break_even: BreakEven | None
    unknown: tuple[str, ...]  # operations priced by their bytes
    plain: Pricing[CallCosts]  # without the user's card
    pricing: Pricing[CallCosts]  # with it


def _asked(request: WhyRequest) -> CaptureRequest:
    return CaptureRequest(
        target=request.script, args=request.args, steps=request.steps, seconds=request.seconds, mark=request.mark,
        show_output=not request.quiet,
    )  # fmt: skip


def _answer(request: WhyRequest, caught: CaptureResult, machine: _Machine, here: Probed) -> Answered:
    timed, step = caught.cpu, step_of(caught.cpu)
    real = device_side(caught.device, here.accelerator)
    stream = recorded(caught)
    side = cpu_side(timed, stream, machine.cpu, machine.gpus[0])
    judged: list[_Judged] = []
    if stream is not None and side.step_ms is not None:
        facts = _facts(caught, here)
        own = [_judge(real.gpu, machine, stream, side, facts, real)] if real is not None and real.gpu is not None else []
        answers = [*own, *(_judge(gpu, machine, stream, side, facts) for gpu in _others(machine, real, request))]
        judged = [one for one in answers if one is not None]
    evidence = [one.evidence for one in judged]
    bare = _bare(real, side)
    verdicts = (*(said for _device, said in bare), *(one.verdict for one in judged))
    found = findings(evidence)
    error = caught.error()
    report = WhyReport(
        script=request.script, unit=timed.unit if timed else None, steps=_steps(caught, step),
        devices=(*_cpu_device(side), *(device for device, _said in bare), *(e.device for e in evidence)),
        verdict=verdicts[0] if verdicts else None, verdicts=verdicts,
        break_even=tuple(one.break_even for one in judged if one.break_even is not None),
        findings=found, remedies=gains(evidence, found),
        warnings=(
            *here.doubts, *said_of(real, caught.device, here.accelerator), *_warnings(caught), *_guessed(judged),
            *said_of_cards(evidence, _host_name(machine)),
        ),
        machine=_described(machine), versions=_versions(caught),
        error=str(error) if error else None, failed=error.slug if error else None,
    )  # fmt: skip
    priced = tuple(
        Priced(one.evidence.device, one.plain, Ground(one.evidence, one.pricing))
        for one in judged
        if one.evidence.device.source == "predicted"
    )
    return Answered(report, stream, _host_name(machine), priced)


def _others(machine: _Machine, real: DeviceSide | None, request: WhyRequest) -> list[Gpu]:
    """The GPUs to predict: those asked for; beside a measured one not the default."""
    if real is not None and not request.named:
        return []
    return [gpu for gpu in machine.gpus if real is None or gpu.name != real.name]


def _bare(real: DeviceSide | None, side: CpuSide) -> tuple[tuple[DeviceResult, Verdict], ...]:
    """A measured device that the catalog does not know: its time and the verdict, and nothing else."""
    if real is None or real.gpu is not None or side.step_ms is None:
        return ()
    device = DeviceResult(real.name, "gpu", "measured", real.step_ms)
    return ((device, verdict(side.step_ms, draws_of(real.step_ms, 200, seed=1), real.name, gpu_ms=real.step_ms.mid)),)


def _judge(
    gpu: Gpu, machine: _Machine, stream: OpStream, side: CpuSide, facts: Facts, real: DeviceSide | None = None
) -> _Judged | None:
    """One GPU: forecast (held to what was measured, if it is here), verdict, break-even, evidence; None: no work for it."""
    plain = pricing_for(stream, gpu, cpu_step_ms=side.step_ms, cpu=machine.cpu, host=machine.host)
    correction = correction_for(gpu.name, _host_name(machine)) if real is None else None
    pricing = plain if correction is None else corrected(plain, correction, stream)
    if real is not None:
        pricing = held_to(real, pricing, stream)
    step = pricing.step(stream)
    device = forecast(gpu.name, stream, pricing, step)
    if real is not None and device.step_ms is not None:
        step, device = measured_step(real, step), as_measured(device, real)
    measured = side.step_ms
    if device.step_ms is None or measured is None:
        return None
    said = verdict(measured, step.draws, gpu.name, gpu_ms=device.step_ms.mid)
    even = break_even(stream, pricing.scaled(step), measured, machine.cpu, gpu.name)
    evidence = Evidence(
        stream=stream, device=device, times=pricing.rows(stream), price=pricing.price(step), cpu=side, facts=facts, gpu=gpu,
        verdict=said,
    )  # fmt: skip
    return _Judged(evidence, said, even, pricing.costs(stream).unknown, plain, pricing)


def _facts(caught: CaptureResult, here: Probed) -> Facts:
    noticed = msgspec.to_builtins(caught.virtual.facts) if caught.virtual else {}
    used = caught.cpu.threads if caught.cpu else None
    threads = Threads(used, here.cpu.cores) if used is not None and not noticed.get("threads") else None
    found = facts_of(noticed, gpu_visible=here.accelerator is not None, threads=threads)
    return replace(found, denormals=(*found.denormals, *denormals_of(caught.cpu)))


def _cpu_device(side: CpuSide) -> tuple[DeviceResult, ...]:
    return () if side.step_ms is None else (DeviceResult("cpu", "cpu", "measured", side.step_ms, side.account),)


def _steps(caught: CaptureResult, step: Estimate | None) -> dict[str, int]:
    group = caught.cpu.principal if caught.cpu else None
    stream = caught.virtual.stream if caught.virtual else None
    return {
        "warmup": group.warmup if group else 0,
        "measured": step.n if step else 0,
        "recorded": stream.steps if stream is not None else 0,
    }


def _warnings(caught: CaptureResult) -> tuple[str, ...]:
    told = [*caught.warnings, *(caught.cpu.warnings if caught.cpu else ()), *_keras(caught)]
    if caught.virtual is not None:
        told += caught.virtual.warnings
        told += caught.virtual.stream.warnings if caught.virtual.stream is not None else ()
    return tuple(dict.fromkeys(told))


def _keras(caught: CaptureResult) -> Iterator[str]:
    """Which path each recurrent layer of a Keras script takes."""
    if caught.cpu is None or caught.cpu.keras is None:
        return
    for layer in caught.cpu.keras.layers:
        yield path_in_a_script(layer.kind, layer.name, layer.arguments)


def _guessed(judged: list[_Judged]) -> tuple[str, ...]:
    names = list(dict.fromkeys(name for one in judged for name in one.unknown))
    return (f"Priced by their bytes alone, since no formula covers them: {', '.join(names)}.",) if names else ()


def _host_name(machine: _Machine) -> str:
    """The host as it is told from other machines' hosts."""
    host, cpu = machine.host, machine.cpu
    return f"{host.name} ({cpu.model}, {cpu.cores} cores)" if host.name == THIS_MACHINE else host.name


def _described(machine: _Machine) -> dict[str, object]:
    return {"cpu": asdict(machine.cpu), "host": asdict(machine.host)}


def _versions(caught: CaptureResult) -> dict[str, str]:
    return {"breakeven": __version__, **(caught.cpu.versions if caught.cpu else {})}
