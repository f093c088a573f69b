"""The break-even batch size: from how many samples a step on the GPU wins, by scaling the recorded stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.cpu_scaling import cpu_scaling
from breakeven.diagnose.verdict import draws_of
from breakeven.machine.records import Cpu
from breakeven.results.records import BreakEven, Interval
from breakeven.simulate import StepPrediction
from breakeven.timeline import OpStream
from breakeven.whatif.scale_batch import scale_batch

#: The parameter that is varied, as the result names it.
BATCH = "batch"

#: Batches that are looked at: from today's sixteenth (at least one) to about a thousand times today's, doubling.
LEAST_FACTOR, MOST_FACTOR = 1 / 16, 1024


@dataclass(frozen=True)
class Curve:
    """Both devices over the grid, ms.

    Attributes:
        batches: shape (g,).
        cpu: draws, shape (g, n).
        gpu: draws, shape (g, n).
    """

    batches: NDArray[np.float64]
    cpu: NDArray[np.float64]
    gpu: NDArray[np.float64]


def break_even(
    stream: OpStream, gpu_step: Callable[[OpStream], StepPrediction], cpu_step: Interval, cpu: Cpu | None, gpu_name: str,
    *, most: int | None = None, seed: int = 0,
) -> BreakEven | None:  # fmt: skip
    """Find the batch size from which the GPU's step is the shorter.

    Args:
        stream: the recorded stream.
        gpu_step: predicts a stream's step on the GPU, with common draws.
        cpu_step: the measured step on the CPU, ms.
        cpu: the CPU's peak and bandwidth, which tell how its operations grow.
        gpu_name: as the catalog calls it.
        most: largest batch to look at (what fits, what there is); None: `MOST_FACTOR` times today's.
        seed: of the CPU's draws.

    Returns:
        The answer, also where the GPU never wins in the range or always does; None where the batch is not known.
    """
    if stream.batch is None or stream.batch < 1 or cpu_step.mid <= 0:
        return None
    return crossing(curve(stream, gpu_step, cpu_step, cpu, most, seed), gpu_name, stream.batch)


def grid(today: int, most: int | None = None) -> list[int]:
    """Batches to look at, today's among them.

    >>> grid(100, 1000)
    [6, 12, 25, 50, 100, 200, 400, 800, 1000]
    """
    top = most or today * MOST_FACTOR
    doubling = [today * 2.0**k for k in range(-4, 11)]
    return sorted({round(b) for b in doubling if max(1, today * LEAST_FACTOR - 1) <= b <= top} | {max(top, 1)})


def curve(
    stream: OpStream,
    gpu_step: Callable[[OpStream], StepPrediction],
    cpu_step: Interval,
    cpu: Cpu | None,
    most: int | None,
    seed: int,
) -> Curve:
    """Both devices' steps over the grid of batches."""
    today = stream.batch or 1
    apart = cpu_scaling(stream, cpu_step, cpu)
    batches, on_cpu, on_gpu = grid(today, most), [], []
    for batch in batches:
        scaled = scale_batch(stream, batch)
        draws = gpu_step(scaled).draws
        on_gpu.append(draws)
        on_cpu.append(draws_of(apart.step(scaled, batch / today), len(draws), seed))
    count = min(len(draws) for draws in on_gpu)
    return Curve(
        np.array(batches, dtype=float), np.array([d[:count] for d in on_cpu]), np.array([d[:count] for d in on_gpu])
    )  # fmt: skip


def crossing(both: Curve, gpu: str, today: int) -> BreakEven:
    """Where the CPU's curve comes to lie above the GPU's for good; interpolated in logarithms, draw by draw for the interval."""
    lead = np.log(both.cpu) - np.log(both.gpu)  # positive: the GPU wins
    logs = np.log(both.batches)
    middle = _crosses(logs, np.median(lead, axis=1))
    drawn = np.array([_crosses(logs, lead[:, n]) for n in range(lead.shape[1])])
    low, high = np.quantile(drawn, [0.05, 0.95], method="inverted_cdf")
    value, low, high = (_batch(x) for x in (middle, min(low, middle), max(high, middle)))
    span = (int(both.batches[0]), int(both.batches[-1]))
    return BreakEven(BATCH, today, gpu, value, low, high, _sentence(gpu, today, middle, value, low, high, span))


def _crosses(logs: NDArray[np.float64], lead: NDArray[np.float64]) -> float:
    """Logarithm of the batch from which the lead stays positive; inf: never, -inf: always."""
    behind = np.flatnonzero(lead <= 0)
    if not len(behind):
        return -np.inf
    last = int(behind[-1])
    if last == len(lead) - 1:
        return np.inf
    a, b = lead[last], lead[last + 1]
    return float(logs[last] + (logs[last + 1] - logs[last]) * (-a / (b - a)))


def _batch(log: float) -> float | None:
    return float(round(np.exp(log))) if np.isfinite(log) else None


def _sentence(
    gpu: str, today: int, middle: float, value: float | None, low: float | None, high: float | None, span: tuple[int, int]
) -> str:
    if middle == -np.inf:
        return f"The {gpu} wins at every batch size from {span[0]:,} to {span[1]:,}; today it is {today:,}."
    if middle == np.inf or value is None:
        return f"The {gpu} does not win at any batch size from {span[0]:,} to {span[1]:,}; today it is {today:,}."
    start = f"{low:,.0f}" if low is not None else f"under {span[0]:,}"
    end = f"{high:,.0f}" if high is not None else f"over {span[1]:,}"
    return f"From a batch of about {_round(value)} on ({start} to {end}), the {gpu} wins; today it is {today:,}."


def _round(value: float) -> str:
    """Two figures are what the interval is worth.

    >>> _round(1873.0), _round(7.0)
    ('1,900', '7')
    """
    return f"{float(f'{value:.2g}'):,.0f}"
