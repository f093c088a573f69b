"""`ask`: from shapes alone, and two reported times where they are known, to what can be believed and what to change.

The network becomes a script, which is timed on this machine's CPU and recorded like any other. The CPU in question is mostly
another one: its step is what is reported, else a preset's, else this one's. What it does not know: a CPU's count of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import numpy as np

from breakeven.capture.request import CaptureRequest
from breakeven.capture.run import capture
from breakeven.costs.host_model import host_model
from breakeven.diagnose.break_even import Curve, crossing, curve
from breakeven.diagnose.evidence import CpuSide, Evidence
from breakeven.diagnose.findings import findings
from breakeven.diagnose.forecast import forecast
from breakeven.diagnose.pricing import pricing_for
from breakeven.diagnose.verdict import CPU, verdict
from breakeven.errors import NoAnswer
from breakeven.machine.gpus import find_gpu
from breakeven.machine.hosts import find_host, this_machine
from breakeven.machine.records import Cpu, Gpu, Host
from breakeven.measure.disturbance import now
from breakeven.models.arithmetic import step_flops
from breakeven.models.asked import Asked
from breakeven.models.learnables import count
from breakeven.models.network import Model, Training
from breakeven.models.shorthand.read import network
from breakeven.models.torch_script import write
from breakeven.results import DeviceResult, Interval
from breakeven.results.asked import AskReport, Claim, Point
from breakeven.timeline import OpStream
from breakeven.workflows.advice import gains
from breakeven.workflows.cpu_side import cpu_side, recorded
from breakeven.workflows.device_side import DeviceSide, as_measured, held_to, measured_step
from breakeven.workflows.model_files import is_model, read_model, written
from breakeven.workflows.plausible import elsewhere, host_of_claim, judged, regime
from breakeven.workflows.probing import probed_cpu
from breakeven.workflows.progress import in_words

#: Changes that are shown.
CHANGES = 3


@dataclass(frozen=True)
class AskRequest:
    """What is asked.

    Attributes:
        net: a network in one line, or a file that holds one.
        batch, length, optimizer, loss: of a network in one line; of a file, where given, they take its own place.
        cpu_ms, gpu_ms: reported times of a step.
        gpu: a name of the catalog.
        host: the machine in question; None: not known.
        data: sizes of a file's data.
    """

    net: str
    batch: int | None = None
    length: int | None = None
    optimizer: str | None = None
    loss: str | None = None
    cpu_ms: float | None = None
    gpu_ms: float | None = None
    gpu: str = "Tesla T4"
    host: str | None = None
    data: tuple[str, ...] = ()


def ask(request: AskRequest, on_progress: Callable[[str], None] = lambda text: None) -> AskReport:
    """Judge what is reported, and say what the step is made of and what would change it.

    Raises:
        InputError: the network, the GPU or the host is wrong.
        NoAnswer: the step could not be timed or recorded here.
    """
    gpu, model = find_gpu(request.gpu), described(request)
    script = write(model, request.net if is_model(request.net) else "")
    probed: list[tuple[Cpu, tuple[str, ...]]] = []
    began = now()
    with written(script, "network") as file:
        asked = CaptureRequest(target=str(file), show_output=False)
        caught = capture(asked, in_words(on_progress), lambda: probed.append(probed_cpu(began)))
    cpu, doubts = probed[0] if probed else probed_cpu()
    stream = recorded(caught)
    here = cpu_side(caught.cpu, stream, cpu, gpu)
    if stream is None or here.step_ms is None:
        raise caught.error() or NoAnswer("the step could not be timed and recorded here")
    on_progress("pricing what was recorded")
    return _Answer(request, model, gpu, cpu, here, doubts).of(stream)


def described(request: AskRequest) -> Model:
    """The network and its training.

    Raises:
        InputError: it cannot be understood.
    """
    if is_model(request.net):
        own = request.net.lower().endswith(".m")  # a MATLAB script says all itself; what is asked then takes its place
        asked = Asked(request.data)
        if not own:
            asked = Asked(request.data, request.batch, request.length, request.loss, request.optimizer)
        model = read_model(request.net, asked)
        training = model.training
    else:
        net = network(request.net, request.length)
        last = net.layers[-1].kind
        softmax = getattr(last, "function", "") == "softmax"
        training = Training(loss="cross_entropy" if softmax else "squares", batch=64, epochs=1000, read_every=None)
        model = Model(net, training)
    changes: dict[str, object] = {}
    if request.batch is not None:
        changes["batch"] = request.batch
    if request.optimizer is not None:
        changes["solver"] = request.optimizer
    if request.loss is not None:
        changes["loss"] = request.loss
    return replace(model, training=replace(training, **changes))  # type: ignore[arg-type]  # the command line checked them


@dataclass(frozen=True)
class _Answer:
    request: AskRequest
    model: Model
    gpu: Gpu
    cpu: Cpu
    here: CpuSide
    doubts: tuple[str, ...]

    def host(self) -> Host:
        """The machine in question: named, or as fast as the reported CPU time says, or any."""
        reference = host_model().dispatch_us
        if self.request.host is not None:
            return find_host(self.request.host, self.cpu, reference)
        if self.request.cpu_ms is not None:
            return host_of_claim(self.request.cpu_ms, self.here, this_machine(self.cpu, reference))
        return this_machine(self.cpu, reference)

    def of(self, stream: OpStream) -> AskReport:
        """The report."""
        assert self.here.step_ms is not None
        own = this_machine(self.cpu, host_model().dispatch_us)
        host = self.host()
        named = host if self.request.host is not None else None
        expected = elsewhere(self.here, own, named)
        basis = self._basis(expected, named is not None and host.name != own.name)
        pricing = pricing_for(stream, self.gpu, cpu_step_ms=self.here.step_ms, cpu=self.cpu, host=host)
        step = pricing.step(stream)
        device = forecast(self.gpu.name, stream, pricing, step)
        if device.step_ms is None:
            raise NoAnswer("nothing of the step runs on a device")
        claims = self._claims(expected, device.step_ms)
        told = self._told(claims)
        if told is not None:  # what is known goes before what is predicted: the rest is held to it
            pricing = held_to(told, pricing, stream)
            step = measured_step(told, pricing.step(stream))
            device = replace(as_measured(device, told), source="reported")
        said = verdict(basis, step.draws, self.gpu.name, gpu_ms=step.mid)
        side = CpuSide(basis, self.here.account, self.cpu)
        evidence = Evidence(
            stream=stream,
            device=device,
            times=pricing.rows(stream),
            price=pricing.price(step),
            cpu=side,
            gpu=self.gpu,
            verdict=said,
        )
        both = curve(stream, pricing.scaled(step), basis, self.cpu, None, 0) if stream.batch else None
        found = findings([evidence])
        training = self.model.training
        cause, words = regime(device, self.model, self.gpu, self.request.gpu_ms)
        return AskReport(
            net=self.request.net, batch=stream.batch or self.model.batch, length=self.request.length,
            optimizer=training.solver if training.learns else None, parameters=count(self.model.network),
            step_flops=step_flops(self.model),
            devices=self._devices(basis, device), claims=claims, cause=cause, regime=words,
            verdict=said, break_even=crossing(both, self.gpu.name, stream.batch) if both is not None and stream.batch else None,
            curve=_points(both), remedies=gains([evidence], found)[:CHANGES], warnings=(*self.doubts, *self._notes(told)),
            machine={"cpu": asdict(self.cpu), "host": asdict(host)},
        )  # fmt: skip

    def _basis(self, expected: Interval, preset: bool) -> Interval:
        """The CPU's step that the GPU is compared with: reported, a preset's, or this machine's."""
        claimed = self.request.cpu_ms
        if claimed is not None:
            return Interval(claimed, claimed, claimed)
        assert self.here.step_ms is not None
        return expected if preset else self.here.step_ms

    def _devices(self, basis: Interval, gpu: DeviceResult) -> tuple[DeviceResult, ...]:
        here = DeviceResult("cpu here", "cpu", "measured", self.here.step_ms, self.here.account)
        if basis is self.here.step_ms:
            return (replace(here, name=CPU), gpu)
        source = "reported" if self.request.cpu_ms is not None else "predicted"
        return (here, DeviceResult(CPU, "cpu", source, basis), gpu)

    def _told(self, claims: tuple[Claim, ...]) -> DeviceSide | None:
        """The GPU's reported time, where it is plausible: the answer rests on it."""
        claim = next((c for c in claims if c.device == self.gpu.name and c.plausible), None)
        return None if claim is None else DeviceSide(self.gpu.name, Interval(claim.ms, claim.ms, claim.ms), self.gpu)

    def _claims(self, cpu: Interval, gpu: Interval) -> tuple[Claim, ...]:
        claims = []
        if self.request.cpu_ms is not None:
            claims.append(judged(CPU, self.request.cpu_ms, cpu))
        if self.request.gpu_ms is not None:
            claims.append(judged(self.gpu.name, self.request.gpu_ms, gpu))
        return tuple(claims)

    def _notes(self, told: DeviceSide | None) -> tuple[str, ...]:
        loop = "The loop that is priced moves each batch from the host, computes, and steps"
        reads = "." if self.model.training.read_every is None else ", and reads the loss as its options say."
        exact = () if told is None else (f"The reported time on the {told.name} is taken as exact; its parts are simulated.",)
        return (loop + reads, *exact, *self.model.notes)


def _points(both: Curve | None) -> tuple[Point, ...]:
    if both is None:
        return ()
    points = []
    for at, batch in enumerate(both.batches):
        low_mid_high = [Interval(*(float(q) for q in np.quantile(side[at], [0.05, 0.5, 0.95]))) for side in (both.cpu, both.gpu)]
        points.append(Point(int(batch), low_mid_high[0], low_mid_high[1]))
    return tuple(points)
