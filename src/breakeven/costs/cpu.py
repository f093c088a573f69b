"""The account of a measured CPU step: compute, bandwidth, overhead, input, other. The parts sum to the step.

Kernel time is what was recorded per operation; whether arithmetic or memory limits it is told by this CPU's own measured rates.
What the recording pass did not time is `other`, not a guess.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts, operations
from breakeven.costs.host import cpu_split, probed_rate
from breakeven.costs.host_model import host_model
from breakeven.costs.works import works
from breakeven.costs.works.effort import effort
from breakeven.machine.records import Cpu
from breakeven.results.records import Interval, Share
from breakeven.timeline import OpStream, schema
from breakeven.units import NS_PER_MS

CAUSES = ("compute", "bandwidth", "overhead", "input", "other")

#: Flops per byte from which arithmetic limits a CPU whose rates were not probed: ridge point of the Opteron X4 in the roofline
#: paper (Williams, Waterman, Patterson, CACM 52(4), 2009).
_RIDGE = 4.4


def cpu_account(
    stream: OpStream, costs: CallCosts, *, cpu_step_ns: Interval, cpu: Cpu, input_ns: float | None = None
) -> tuple[Share, ...]:
    """Where one step of the CPU pass goes.

    Args:
        stream: the recorded steps, with their CPU times.
        costs: of its calls (for any device: only the CPU's part is used).
        cpu_step_ns: one step of the undisturbed pass, ns.
        cpu: with its probed rates.
        input_ns: measured wait for input per step; None: what the stream's input rows say.

    Returns:
        One share per cause of `CAUSES`, ms; they sum to `cpu_step_ns.mid`.
    """
    split = cpu_split(stream, costs, probed_rate(cpu, host_model()), cpu)
    total = cpu_step_ns.mid
    waited = min(total, _input_ns(stream, split.waits_ns) / stream.steps if input_ns is None else input_ns)
    left = total - waited
    if not split.measured:
        return _shares(total, {"input": waited, "other": left})
    kernels = split.kernel_ns / stream.steps
    busy = min(float(kernels.sum()), left)
    computing = _limited_by_arithmetic(stream.calls, cpu)[stream.rows[schema.ROW_CALL.name].to_numpy()]
    share = float(kernels[computing].sum()) / float(kernels.sum()) if kernels.sum() > 0 else 0.0
    parts = {"compute": busy * share, "bandwidth": busy * (1 - share), "overhead": left - busy, "input": waited}
    return _shares(total, parts)


def _limited_by_arithmetic(calls: pl.DataFrame, cpu: Cpu) -> NDArray[np.bool_]:
    """Per call, whether its arithmetic takes this CPU longer than its traffic."""
    ridge = cpu.peak_gflops / cpu.bandwidth_gb_s if cpu.peak_gflops and cpu.bandwidth_gb_s else _RIDGE
    limited = []
    for op in operations(calls):
        efforts = [effort(work) for work in works(op)[0]]
        limited.append(sum(e.flops for e in efforts) > ridge * sum(e.bytes for e in efforts))
    return np.array(limited, dtype=np.bool_)


def _input_ns(stream: OpStream, waits_ns: NDArray[np.float64]) -> float:
    return float(waits_ns[(stream.rows[schema.ROW_PHASE.name] == schema.Phase.INPUT).to_numpy()].sum())


def _shares(total: float, parts: dict[str, float]) -> tuple[Share, ...]:
    return tuple(
        Share(cause, parts.get(cause, 0.0) / NS_PER_MS, parts.get(cause, 0.0) / total if total else 0.0) for cause in CAUSES
    )
