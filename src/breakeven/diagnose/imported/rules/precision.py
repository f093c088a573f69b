"""tf32, fp64: products in a precision that the device is slow at, seen from their kernels' names."""

from __future__ import annotations

import re

from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.rules.finding import finding, part
from breakeven.results.records import Finding, Interval

#: Kernels of float32 products without tensor cores, as cuBLAS and CUTLASS name them.
_FLOAT32 = ("sgemm", "scudnn", *(f"f32f32_f32f32_f32_{layout}" for layout in ("tn", "nn", "nt", "tt")))
_DOUBLE = ("dgemm", "d884gemm", "f64f64", "_dsymv", "double")

#: Devices whose tensor cores take TF32 (Ampere and later: NVIDIA's data sheets).
_HAS_TF32 = re.compile(
    r"A100|A800|A30\b|A10\b|A40|A4500|A5000|A6000|RTX 30|RTX 40|RTX 50|L4\b|L40|H100|H200|H800|GH200|B200|GB200|B100|A2\b|A16"
)

#: Part of such a product that TF32 saves: by the data sheet of the A100 it is 8 times as fast (156 against 19.5 TFLOP/s), but
#: traffic and tails stay; hence twice as fast at the low end, and 3 times in the middle.
_SAVED = (0.5, 0.7, 0.85)


def tf32(evidence: TraceEvidence) -> Finding | None:
    """Products in float32 on a device whose tensor cores would take them as TF32.

    What it sees: kernels named as float32 products without tensor cores, on Ampere or later.
    Why it costs: the same product as TF32 runs several times as fast.
    Evidence: the time of those kernels; data sheets for the gain.
    Example: PyTorch's default for matrix products since 1.12.
    Remedy: `torch.set_float32_matmul_precision("high")`, or autocast.
    When it is wrong: where 10 bits of mantissa are too few.
    """
    if evidence.on_cpu or not _HAS_TF32.search(evidence.facts.name or ""):
        return None
    found = evidence.device_in_steps.containing(*_FLOAT32)
    total = found.total_ms / evidence.count
    if total <= 0:
        return None
    price = Interval(*(total * s for s in _SAVED))
    sentence = f"Float32 products run without tensor cores ({found.longest(1)}); as TF32 they would save {part(evidence, price)}."
    return finding(evidence, "tf32", "compute", price, sentence, ("tf32", "autocast"))


def fp64(evidence: TraceEvidence) -> Finding | None:
    """Products in float64.

    What it sees: kernels named as products in double precision.
    Why it costs: twice the traffic, and on consumer devices a 32nd or 64th of the arithmetic.
    Evidence: the time of those kernels, half of which the traffic alone would save.
    Example: a data set from NumPy that was never converted.
    Remedy: `.float()` on the data and the model.
    When it is wrong: where float32 does not suffice.
    """
    if evidence.on_cpu:
        return None
    found = evidence.device_in_steps.containing(*_DOUBLE)
    total = found.total_ms / evidence.count
    if total <= 0:
        return None
    price = Interval(0.3 * total, 0.5 * total, 0.97 * total)
    sentence = f"Double precision ({found.longest(1)}) costs {part(evidence, price)} more than float32 would."
    return finding(evidence, "fp64", "compute", price, sentence, ("float32",))
