"""`breakeven trace --replay`: a trace's own operations through the simulator, with its own times, and blind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from breakeven.costs.calls import price_calls
from breakeven.costs.host import HostRate, HostTimes, times_at
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.own_times import own_times
from breakeven.errors import InputError, UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.machine.hosts import hosts
from breakeven.machine.records import Gpu, Host
from breakeven.readers import Trace
from breakeven.readers.profiles.files import sources
from breakeven.readers.profiles.operations import Operations, operations_of
from breakeven.results.records import Interval
from breakeven.results.traced import Replay
from breakeven.simulate import step_ms
from breakeven.units import NS_PER_US

#: Host time of one recorded Python frame, microseconds on the reference host: its own execution in a model's forward pass, and
#: the profiler's tracer. Fitted to what the steps of four traces with stacks take beyond the host model, by the number of
#: their frames: h100_bert_small 3.0, mi300_bert_small 3.5, h100_vit_small 2.3, h100_tiny_transformer 2.7.
_FRAME_US: Final = 2.8
#: One recorded operation: profiler_event_us of costs/data/host.json, on the reference host.
_EVENT_US: Final = 0.44
#: Log error of a step's host time by the model, stacks included: the model's own 0.21, and what the same four traces leave.
HOST_LOG_SIGMA: Final = 0.22

#: Preset hosts that devices of a name usually sit in; the first match counts.
_HOSTS: Final = (
    (re.compile(r"H100|H200|H800|GH200|B200|B100"), "h100 server"),
    (re.compile(r"MI3\d\d"), "mi300 server"),
    (re.compile(r"A100.*PCI", re.IGNORECASE), "a100 pcie server"),
    (re.compile(r"Tesla T4|Tesla P100|Tesla K80"), "colab"),
    (re.compile(r"RTX 20|GTX|GP100|Titan", re.IGNORECASE), "workstation 2019"),
    (re.compile(r""), "a100 server"),
)


def replay(files: Sequence[Path], trace: Trace, evidence: TraceEvidence) -> Replay:
    """The median step as recorded, as simulated from its own times, and as simulated from names and shapes alone."""
    own = own_times(evidence)
    return Replay(evidence.step_ms.mid, None if own is None else own.step_ms(), _blind(files, trace, evidence))


def _blind(files: Sequence[Path], trace: Trace, evidence: TraceEvidence) -> Interval | None:
    """None where shapes or the device are not known."""
    if evidence.on_cpu or trace.source != "kineto" or evidence.facts.name is None:
        return None
    gpu = catalogued(evidence.facts.name)
    source = next((s for path in files for s in sources(path) if s.name == trace.name), None)
    if gpu is None or source is None:
        return None
    try:
        operations = operations_of(source)
    except InputError:
        return None
    if operations is None or not len(operations.stream):
        return None
    return _predicted(operations, gpu, host_of(evidence.facts.name))


def _predicted(operations: Operations, gpu: Gpu, host: Host) -> Interval:
    """The step by the model of costs, in a host of this kind, under the profiler."""
    costs = price_calls(operations.stream.calls, gpu)
    times = times_at(operations.stream, costs, HostRate(host.scale_mid, 1.0, HOST_LOG_SIGMA))
    added = (operations.events * _EVENT_US + operations.frames * _FRAME_US) * host.scale_mid * operations.stream.steps * NS_PER_US
    each = np.full(len(operations.stream), added / len(operations.stream))
    step = step_ms(operations.stream, costs, _slower(times, each))
    return Interval(step.low, step.mid, step.high)


def _slower(times: HostTimes, each: np.typing.NDArray[np.float64]) -> HostTimes:
    return replace(times, issue_ns=times.issue_ns + each)


def catalogued(name: str) -> Gpu | None:
    """The catalog's record of a device as its driver names it; None: it has none."""
    plain = name.removeprefix("NVIDIA ").removeprefix("AMD Instinct ").removeprefix("AMD ")
    for wanted in (name, plain, plain.removesuffix(" VF"), plain.split(" ")[0].split("-")[0]):
        try:
            return find_gpu(wanted)
        except UnknownDevice:
            continue
    return None


def host_of(device: str) -> Host:
    """The preset host that a device of this name usually sits in."""
    name = next(preset for pattern, preset in _HOSTS if pattern.search(device))
    return next(host for host in hosts() if host.name == name)
