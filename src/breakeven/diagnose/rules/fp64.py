"""fp64: the training computes in double precision."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.diagnose.evidence import Evidence, sites_of
from breakeven.diagnose.wording import of_step, times
from breakeven.results.records import Finding, Interval
from breakeven.timeline import edit
from breakeven.whatif.float32 import double_rows, float32

#: Device name of findings about the CPU.
CPU = "cpu"

#: Part of its float64 time that float32 takes on a CPU: half the bytes, and twice as many numbers in a vector register.
SINGLE_ON_CPU = 0.5


def fp64(evidence: Evidence) -> Finding | None:
    """Tensors are float64, mostly because they came from NumPy.

    What it sees: operations that compute in float64.
    Why it costs: consumer and inference GPUs do double precision at 1/32 or 1/64 of their single-precision rate; a CPU at
        half.
    Evidence: the step simulated in float32; on the CPU half of the measured time of these operations.
    Example: `torch.tensor(df.values)` and `model.double()` to fit.
    Remedy: `.float()` where the data are made.
    When it is wrong: where the accuracy is needed (long recurrences, differences of close numbers).
    """
    stream = evidence.stream
    rows = double_rows(stream)
    if not rows.any():
        return None
    price = evidence.price(float32(stream))
    if price.mid >= 0.04 * evidence.step_ms:
        rate = _rate(evidence)
        return Finding(
            id="fp64",
            device=evidence.device.name,
            cause="compute",
            price_ms=price,
            sentence=f"The step computes in float64{rate}; float32 would save {of_step(price.mid, evidence.step_ms)}.",
            sites=sites_of(evidence, rows, lambda at: float32(stream, at)),
            remedies=("float32",),
        )
    return _on_cpu(evidence, rows)


def _rate(evidence: Evidence) -> str:
    gpu = evidence.gpu
    if gpu is None or not gpu.fp32_tflops or not gpu.fp64_tflops:
        return ""
    return f", which {gpu.name} does {times(gpu.fp32_tflops / gpu.fp64_tflops)} slower than float32"


def _on_cpu(evidence: Evidence, rows: NDArray[np.bool_]) -> Finding | None:
    """The same on the CPU, where the GPU's step is not held up by it."""
    step = evidence.cpu.step_ms
    measured = edit.cpu_ns(evidence.stream)
    known = rows & ~np.isnan(measured)
    if step is None or not known.any():
        return None
    kernels = min(evidence.per_step(known, measured) / 1e6, step.mid)
    saved = kernels * (1 - SINGLE_ON_CPU)
    return Finding(
        id="fp64",
        device=CPU,
        cause="compute",
        price_ms=Interval(0.0, saved, kernels),
        sentence=(
            f"The step computes in float64; float32 moves half the bytes and would save the CPU about {of_step(saved, step.mid)}."
        ),
        sites=sites_of(evidence, rows, lambda at: None),
        remedies=("float32",),
    )
