"""Figures of merit: how much work a call is, against what the device can do at most."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.errors import UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.measure.targets import Target
from breakeven.results.timing import Merit

_FP = {"float32": "fp32_tflops", "float64": "fp64_tflops", "float16": "tensor_fp16_tflops", "bfloat16": "tensor_bf16_tflops"}


@dataclass(frozen=True)
class Peaks:
    """What a device can do at most; None: not known."""

    gflops: float | None = None
    gb_s: float | None = None
    source: str = ""


def peaks(device: str, device_name: str, dtype: str) -> Peaks:
    """A GPU's by its data sheet; the CPU's by a large product and a large copy, measured now (float32 only)."""
    if device == "cpu":
        from breakeven.measure import probe

        gflops = probe.product_gflops() if dtype == "float32" else None
        return Peaks(gflops, probe.copy_gb_s(), "measured here: a product of 1024 x 1024, a copy of 64 MiB")
    try:
        gpu = find_gpu(device_name)
    except UnknownDevice:
        return Peaks()
    tflops = getattr(gpu, _FP[dtype]) if dtype in _FP else None
    return Peaks(1e3 * tflops if tflops else None, gpu.memory_bandwidth_gb_s, f"data sheet of {gpu.name}")


def merits(target: Target, call_ms: float, most: Peaks, *, over_link: bool) -> tuple[Merit, ...]:
    """Rates of a target by its median.

    Args:
        target: says how much work a call is.
        call_ms: median time of a call.
        most: the device's peaks.
        over_link: what moves goes over the link between host and device, whose peak is not known.
    """
    found = []
    if target.flops and call_ms > 0:
        found.append(_merit("GFLOP/s", target.flops / call_ms / 1e6, most.gflops, most.source))
    if target.moved and call_ms > 0:
        found.append(_merit("GB/s", target.moved / call_ms / 1e6, None if over_link else most.gb_s, most.source))
    return tuple(found)


def _merit(unit: str, value: float, peak: float | None, source: str) -> Merit:
    return Merit(unit, value, peak, value / peak if peak else None, source if peak else "")
