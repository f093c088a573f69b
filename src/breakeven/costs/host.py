"""The host's side of a stream on a GPU machine: how long each row keeps the thread that issues it.

Where launches bind, the host is the step. A CPU step that was timed undisturbed is the user's own work (pauses), the framework's
time per operation, and kernels. The framework's rate of this host is what is left after the other two, and a dispatch probe says
the same with no script at all; both are weighed by how much each can know. The GPU's rows then cost that rate times the fitted
profile.
Other processes of the GPU's machine, and a host whose single-thread speed changes under load, are not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts
from breakeven.costs.host_classes import VIEW, host_class
from breakeven.costs.host_model import HostModel, host_model
from breakeven.machine.records import Cpu, Host
from breakeven.results.records import Interval
from breakeven.timeline import OpStream, schema
from breakeven.units import NS_PER_US

#: A pause this long before an operation is the user's own work (data, logging, Python); shorter ones are framework and glue,
#: whose recorded length is mostly the recorder's. 100 us as in the fit of the traces (`tools/host_traces.py`), times what a
#: dispatch mode adds to a step (88 % where it was measured for the design), times how slow this host is.
LONG_PAUSE_NS = 188_000
#: A recorded time this many times the lower quartile of the same call at the same line was interrupted by something else.
_OUTLIER = 4.0
#: What is recorded of a small operation is mostly the recorder's dispatch and cold caches, which differ from run to run by some
#: tens of microseconds: a kernel takes no more than this many times its arithmetic and traffic at the probed rates, …
LEAST_EFFICIENCY = 10.0
#: … unless it takes longer than any dispatch does (random numbers, sorting, denormals: they are that slow). Both are assumed.
MOST_DISPATCH_NS = 100_000.0
#: Relative error of a kernel's time as recorded (in the dispatch mode, caches colder) against the undisturbed pass; assumed, and
#: only a weight: it says from which share of kernels on the residual is worth less than the probe.
_KERNEL_ERROR = 0.15
#: The dispatch probe's error as a description of a script's framework time, beside the spread of scripts' Python (`gap_log_sd`).
_PROBE_ERROR = 0.15
#: What is left of a CPU step is framework up to this many times what the probe says, and what the recording saw as pauses; more
#: than both is another process at work (a step that waited for its turn), not this script's host.
_PLAUSIBLE = 2.0
#: Without any probe: spread of the traces' hosts about the reference (their fitted scales run from 0.5 to 2.6, old stacks aside).
_UNKNOWN_HOST = 0.55
_Z90 = 1.645


@dataclass(frozen=True)
class HostTimes:
    """Host side of every row on a GPU machine.

    Attributes:
        before_ns: per row, the user's own work before it is issued (no operation running), input included.
        issue_ns: per row, framework and launches.
        log_sigma: uncertainty of the framework part, standard deviation of its logarithm, shared by all rows.
        rate: this host's framework time relative to the reference host, as used.
    """

    before_ns: NDArray[np.float64]
    issue_ns: NDArray[np.float64]
    log_sigma: float
    rate: float


@dataclass(frozen=True)
class CpuSplit:
    """What a recorded stream says of its own CPU pass, ns over all rows of all steps.

    Attributes:
        kernel_ns: per row, time in CPU kernels (dispatch below autograd taken out).
        waits_ns: per row of the host's own (a batch, a checkpoint), its length, which the timing pass knows as well.
        pauses_ns: per row, a long pause before it, as recorded: the user's own work, drawn out by the recorder.
        glue_ns: per row, recorded pause before it that is short: Python between operations, the recorder's share in it.
        framework_ns: per row, framework time by the model, reference host.
        measured: whether kernel times were recorded.
    """

    kernel_ns: NDArray[np.float64]
    waits_ns: NDArray[np.float64]
    pauses_ns: NDArray[np.float64]
    glue_ns: NDArray[np.float64]
    framework_ns: NDArray[np.float64]
    measured: bool


@dataclass(frozen=True)
class HostRate:
    """How fast a host is, as learned from one script's CPU step; it holds for that script's rewritten streams too.

    Attributes:
        framework: framework time relative to the reference host.
        own_work: the user's own work relative to this machine.
        pause_share: part of the recorded pauses that the undisturbed step has room for.
        log_sigma: uncertainty of `framework`, standard deviation of its logarithm.
        probed: this machine's framework time relative to the reference, by the dispatch probe alone.
    """

    framework: float
    own_work: float
    log_sigma: float
    probed: float = 1.0
    pause_share: float = 1.0


def host_times(stream: OpStream, costs: CallCosts, *, cpu_step_ns: Interval | None, cpu: Cpu, host: Host) -> HostTimes:
    """Host times of a stream on a GPU machine: `host_rate`, then `times_at` it.

    Args:
        stream: as recorded, lowered to what CUDA would run.
        costs: of its calls.
        cpu_step_ns: one step of the undisturbed CPU pass, ns; None: not timed.
        cpu: the CPU that it ran on, with its dispatch probe.
        host: the machine that the GPU sits in.
    """
    return times_at(stream, costs, host_rate(stream, costs, cpu_step_ns=cpu_step_ns, cpu=cpu, host=host))


def host_rate(stream: OpStream, costs: CallCosts, *, cpu_step_ns: Interval | None, cpu: Cpu, host: Host) -> HostRate:
    """The rate of a host for one script; arguments as of `host_times`."""
    model = host_model()
    probed = probed_rate(cpu, model)
    split = cpu_split(stream, costs, probed, cpu)
    share = _pause_share(split, probed, cpu_step_ns, stream.steps)
    rate, sigma = _rate(split, share, probed, cpu_step_ns, stream.steps, cpu, model)
    host_sigma = math.log(host.scale_high / host.scale_low) / (2 * _Z90) if host.scale_low > 0 else 0.0
    # What the script's residual says beyond the probe is the script's own (how much Python it runs), on any host. Where it says
    # less, the CPU's operations are cheaper than the model has them (an optimizer's loop); that tells nothing of a GPU's.
    script = max(1.0, rate / probed)
    own_work = (host.scale_mid if host.own_scale is None else host.own_scale) / probed
    # A preset's scale owes nothing to this machine's probe; only what the script's own residual adds to it is uncertain with it.
    of_script = sigma if host.own_scale is not None or script > 1.0 else 0.0
    return HostRate(host.scale_mid * script, own_work, math.hypot(of_script, model.step_log_sd, host_sigma), probed, share)


def times_at(stream: OpStream, costs: CallCosts, rate: HostRate) -> HostTimes:
    """Host times of a stream, recorded or rewritten, on a host whose rate is known."""
    call = stream.rows[schema.ROW_CALL.name].to_numpy()
    issue = np.where(_is_backward(stream), costs.backward_host_ns[call], costs.forward_host_ns[call])
    issue = issue + _call_starts(stream, host_model())
    split = cpu_split(stream, costs, rate.probed)
    own = split.waits_ns + split.pauses_ns * rate.pause_share
    return HostTimes(own * rate.own_work, issue * rate.framework, rate.log_sigma, rate.framework)


def probed_rate(cpu: Cpu, model: HostModel) -> float:
    """A host's framework time relative to the reference host, by the dispatch probe alone (1 without one)."""
    return 1.0 if cpu.dispatch_us is None else cpu.dispatch_us / model.dispatch_us


def cpu_split(stream: OpStream, costs: CallCosts, rate: float = 1.0, here: Cpu | None = None) -> CpuSplit:
    """Take a recorded stream's CPU pass apart into kernels, pauses and framework.

    Args:
        stream: as recorded.
        costs: of its calls.
        rate: this host's framework time relative to the reference, by the probe.
        here: the CPU that it was recorded on, whose rates bound what a small kernel can take; None: not known.
    """
    call = stream.rows[schema.ROW_CALL.name].to_numpy()
    operations = costs.cpu_operations[call].astype(np.float64)
    cpu = _steady(stream, schema.ROW_CPU.name)
    measured = bool(np.nansum(cpu) > 0)
    views = np.array([host_class(name) == VIEW for name in stream.calls[schema.CALL_OP.name].to_list()], dtype=np.bool_)
    floor = _dispatch_floor(np.nan_to_num(cpu)[views[call]])
    kernel = np.maximum(0.0, np.nan_to_num(cpu) - floor * np.maximum(1.0, operations))
    kernel = np.maximum(np.minimum(kernel, np.where(views, 0.0, _most_ns(costs, here))[call]), kernel - MOST_DISPATCH_NS)
    is_host = (stream.calls[schema.CALL_KIND.name] == schema.Kind.HOST).to_numpy()[call]
    recorded = np.nan_to_num(stream.rows[schema.ROW_HOST.name].cast(pl.Float64).to_numpy())
    pause = np.where(is_host, recorded, np.nan_to_num(_steady(stream, schema.ROW_HOST.name)))
    starts = _call_starts(stream, host_model())
    within = (_is_backward(stream) | _is_optimizer(stream)) & (starts == 0.0)  # inside these no line of the user's runs
    own = (pause >= LONG_PAUSE_NS * max(1.0, rate)) & ~within & ~is_host
    per_call = np.where(_is_backward(stream), costs.cpu_backward_host_ns[call], costs.cpu_host_ns[call])
    framework = per_call * operations + starts
    waits, glue = np.where(is_host, pause, 0.0), np.where(own | is_host, 0.0, pause)
    return CpuSplit(kernel, waits, np.where(own, pause, 0.0), glue, framework, measured)


def _pause_share(split: CpuSplit, prior: float, cpu_step_ns: Interval | None, steps: int) -> float:
    """Part of the recorded pauses that is left of the undisturbed step beside kernels, waits and the probe's framework time.

    The recorder slows the user's Python too, several times where it calls into PyTorch; only the sum is known for certain.
    """
    recorded = float(split.pauses_ns.sum())
    if cpu_step_ns is None or recorded <= 0 or not split.measured:
        return 1.0
    known = float(split.kernel_ns.sum() + split.waits_ns.sum()) + prior * float(split.framework_ns.sum())
    return min(1.0, max(0.0, cpu_step_ns.mid * steps - known) / recorded)


def _rate(
    split: CpuSplit, share: float, prior: float, cpu_step_ns: Interval | None, steps: int, cpu: Cpu, model: HostModel
) -> tuple[float, float]:
    """This host's framework rate for this script, and its log error.

    The probe knows the host and not the script, so it weighs by how scripts' Python differs (`gap_log_sd`). The residual knows
    the script, and the less the more of the step is kernels. How scripts differ is part of `step_log_sd`, which the caller adds.
    """
    probe_sd = _PROBE_ERROR if cpu.dispatch_us is not None else _UNKNOWN_HOST
    prior_sd = math.hypot(model.gap_log_sd, probe_sd)
    weight, mean = 1 / prior_sd**2, math.log(prior) / prior_sd**2
    said = float(split.framework_ns.sum())
    if cpu_step_ns is not None and split.measured and said > 0:
        total, kernels = cpu_step_ns.mid * steps, float(split.kernel_ns.sum())
        left = total - kernels - float(split.waits_ns.sum()) - share * float(split.pauses_ns.sum())
        left = min(left, _PLAUSIBLE * prior * said + float(split.glue_ns.sum()))
        if left > 0:
            timing = (cpu_step_ns.high - cpu_step_ns.low) * steps / (2 * _Z90)
            residual_sd = math.hypot(_PROBE_ERROR, _KERNEL_ERROR * kernels / left, timing / left)
            weight, mean = weight + 1 / residual_sd**2, mean + math.log(left / said) / residual_sd**2
    return math.exp(mean / weight), min(probe_sd, 1 / math.sqrt(weight))


def _steady(stream: OpStream, column: str) -> NDArray[np.float64]:
    """A column of times with interruptions cut: at most some times the lower quartile of the same call at the same line."""
    value = pl.col(column).cast(pl.Float64)
    usual = value.quantile(0.25, "nearest").over(schema.ROW_CALL.name, schema.ROW_SITE.name)
    cut = pl.when(value > _OUTLIER * usual).then(usual).otherwise(value)
    return np.asarray(stream.rows.select(cut.alias(column))[column].to_numpy(), dtype=np.float64)


def _dispatch_floor(times: NDArray[np.float64]) -> float:
    """What a call takes below autograd with hardly any kernel, ns: such calls of the same recording (few: they cannot say, 0)."""
    return float(np.median(times)) if len(times) >= 5 else 0.0


def _most_ns(costs: CallCosts, here: Cpu | None) -> NDArray[np.float64]:
    """Per call, what its kernel takes at most if it reaches a tenth of this CPU's probed rates; infinite where not probed."""
    if here is None or not here.peak_gflops or not here.bandwidth_gb_s:
        return np.full(len(costs.flops), np.inf)
    most: NDArray[np.float64] = LEAST_EFFICIENCY * (costs.flops / here.peak_gflops + costs.bytes / here.bandwidth_gb_s)
    return most


def _is_backward(stream: OpStream) -> NDArray[np.bool_]:
    return np.asarray((stream.rows[schema.ROW_PHASE.name] == schema.Phase.BACKWARD).to_numpy(), dtype=np.bool_)


def _is_optimizer(stream: OpStream) -> NDArray[np.bool_]:
    return np.asarray((stream.rows[schema.ROW_PHASE.name] == schema.Phase.OPTIMIZER).to_numpy(), dtype=np.bool_)


def _call_starts(stream: OpStream, model: HostModel) -> NDArray[np.float64]:
    """Starting the engine, and an optimizer's own Python, on the first row of each such stretch, ns on the reference host."""
    phases = stream.rows[schema.ROW_PHASE.name]
    starts = np.zeros(len(phases))
    for phase, us in ((schema.Phase.BACKWARD, model.backward_call_us), (schema.Phase.OPTIMIZER, model.optimizer_call_us)):
        starts[_first_of_stretch((phases == phase).to_numpy())] = us * NS_PER_US
    return starts


def _first_of_stretch(inside: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.asarray(inside & ~np.concatenate([[False], inside])[: len(inside)].astype(np.bool_), dtype=np.bool_)
