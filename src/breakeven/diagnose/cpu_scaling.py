"""What a step would cost this CPU at another batch size, from one measured step and the scaled stream.

The measured step is its operations (`cpu_ns`, which grow with their work), its input (which grows with the samples) and the rest:
Python and dispatch, which stay. An operation's own time has a part that stays too, its set-up; how large it is cannot be read
off one measurement, so the two extremes (all that exceeds the roofline stays; nothing stays) make the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.machine.records import Cpu
from breakeven.results.records import Interval
from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call
from breakeven.units import ITEM_SIZE, NS_PER_MS

_PRODUCTS = ("mm", "addmm", "mv", "addmv", "bmm", "baddbmm", "matmul", "linear")
_CONVOLUTIONS = ("convolution", "_convolution", "cudnn_convolution", "conv1d", "conv2d", "conv3d", "convolution_backward")
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


@dataclass(frozen=True)
class CpuScaling:
    """The measured step taken apart, per recorded step.

    Attributes:
        step_ms: the measured step.
        rows_ns: time of each row's operation on the CPU, scaled down where the recording was slower than the step; shape (rows,).
        input_ns: host time of the input in one step, which grows with the batch.
        rest_ns: what is left of the step: it stays.
    """

    stream: OpStream
    cpu: Cpu | None
    step_ms: Interval
    rows_ns: NDArray[np.float64]
    input_ns: float
    rest_ns: float

    def step(self, scaled: OpStream, growth: float) -> Interval:
        """The CPU's step in ms with the scaled stream, whose batch is `growth` times today's; not a measurement."""
        call = edit.column(self.stream, schema.ROW_CALL)
        before = _ideal_ns(edit.calls_of(self.stream), self.cpu)
        after = _ideal_ns(edit.calls_of(scaled), self.cpu)
        ratio = (after / np.maximum(before, 1e-3))[call]
        ratio = np.maximum(ratio, 1.0) if growth >= 1 else np.minimum(ratio, 1.0)
        own, ideal = self.rows_ns, before[call] if self.cpu and self.cpu.peak_gflops else self.rows_ns
        setup = np.minimum(own, 1000 * (self.cpu.dispatch_us or 0.0)) if self.cpu else np.zeros_like(own)
        extra = (np.minimum(ideal, own)) * (ratio - 1)
        likely, most = (own - setup) * (ratio - 1), own * (ratio - 1)
        fixed = self.rest_ns + self.input_ns * growth
        steps = max(1, self.stream.steps)
        total = sorted((fixed + (own + more).sum() / steps) / NS_PER_MS for more in (extra, likely, most))
        rel_low, rel_high = self.step_ms.low / self.step_ms.mid, self.step_ms.high / self.step_ms.mid
        return Interval(total[0] * rel_low, total[1], total[2] * rel_high)


def cpu_scaling(stream: OpStream, step: Interval, cpu: Cpu | None) -> CpuScaling:
    """Take a measured step apart.

    Raises:
        ValueError: the step takes no time.
    """
    if step.mid <= 0:
        raise ValueError(f"a step of {step.mid} ms cannot be scaled")
    steps = max(1, stream.steps)
    rows = np.nan_to_num(edit.cpu_ns(stream))
    on_host = edit.marked(stream, [not edit.on_device(call) for call in edit.calls_of(stream)])
    feeding = on_host & (edit.phases(stream) == schema.Phase.INPUT)
    rows = np.where(on_host & ~feeding, 0.0, rows)
    host = np.nan_to_num(edit.host_ns(stream))
    input_ns = float(host[feeding].sum()) / steps
    known = rows.sum() / steps + input_ns
    fits = min(1.0, step.mid * NS_PER_MS / known) if known > 0 else 1.0
    rest = max(0.0, step.mid * NS_PER_MS - known * fits)
    return CpuScaling(stream, cpu, step, rows * fits, input_ns * fits, rest)


def _ideal_ns(calls: tuple[Call, ...], cpu: Cpu | None) -> NDArray[np.float64]:
    """Roofline time of each call in ns; without the probe's figures its operations (arbitrary unit: only ratios are used)."""
    peak = cpu.peak_gflops if cpu else None
    rate = cpu.bandwidth_gb_s if cpu else None
    flops = np.array([flops_of(call) for call in calls], dtype=float)
    if not peak or not rate:
        arbitrary: NDArray[np.float64] = np.maximum(flops, 1.0)
        return arbitrary
    moved = np.array([_bytes_of(call) for call in calls], dtype=float)
    ideal: NDArray[np.float64] = np.maximum(flops / peak, moved / rate)
    return ideal


def flops_of(call: Call) -> float:
    """Arithmetic of a call, from its shapes: exact for products, convolutions and recurrent layers, else one for each element.

    >>> flops_of(Call("aten::mm", "compute", "cuda:0", inputs=((2, 3), (3, 4)), outputs=((2, 4),)))
    48.0
    """
    name = call.op.removeprefix("aten::")
    shapes = (*call.inputs, *call.outputs)
    if name in _PRODUCTS and call.inputs and call.outputs:
        last = [s for s in call.inputs[-2:] if s]
        return 2.0 * math.prod(call.outputs[0]) * (last[0][-1] if last else 1)
    if name in _CONVOLUTIONS and len(call.inputs) > 1 and call.outputs:
        images = [s for s, flag in zip(call.inputs, call.parameters, strict=False) if not flag]
        weights = max((s for s in call.inputs if len(s) > 2 and s not in images), key=math.prod, default=())
        largest = max((math.prod(s) for s in (*images[:1], call.outputs[0])), default=1)
        return 2.0 * largest * math.prod(weights[1:] or (1,))
    if call.op.startswith("cudnn::"):
        at = edit.values_of(call)
        hidden, width = at.get("hidden", 1), at.get("input", 1)
        gates = _GATES.get(call.op.removeprefix("cudnn::").removesuffix("_backward"), 4)
        passes = at.get("batch", 1) * at.get("timesteps", 1) * at.get("layers", 1)
        return float(2 * gates * hidden * (hidden + width) * passes)
    return float(max((math.prod(s) for s in shapes), default=1))


def _bytes_of(call: Call) -> float:
    sizes = [math.prod(s) for s in (*call.inputs, *call.outputs)]
    return float(sum(sizes) * ITEM_SIZE.get(call.dtype, 4))
