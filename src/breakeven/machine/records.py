"""Hosts and devices as plain records. What a data sheet does not say is None."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """One device of the catalog: facts from data sheets (`machine/data/gpus.csv`), in the units that the names say."""

    name: str
    vendor: str
    architecture: str
    released: str
    compute_capability: str | None
    sm_count: int | None
    boost_clock_mhz: float | None
    fp32_tflops: float | None
    fp64_tflops: float | None
    tensor_fp16_tflops: float | None  # dense, 32-bit accumulation: what PyTorch uses
    tensor_tf32_tflops: float | None
    tensor_bf16_tflops: float | None
    memory_gb: float | None
    memory_bandwidth_gb_s: float | None
    l2_mb: float | None
    pcie_gen: int | None
    pcie_lanes: int | None
    tdp_w: float | None
    source: str


@dataclass(frozen=True)
class Host:
    """The machine that issues the work: how its single-thread speed at dispatching compares with the reference host.

    Attributes:
        name: `this machine`, or a preset such as `colab`.
        scale: time of one dispatched operation relative to the reference host of the fitted host model (1.0: equal;
            2.0: twice as slow), with its 90 % interval.
        own_scale: the same of the user's own work, where it is known to differ; None: as `scale_mid`.
        source: where the scale comes from.
    """

    name: str
    scale_low: float
    scale_mid: float
    scale_high: float
    source: str
    pageable_gb_s: float | None = None  # host-device copy rate that its link allows, where known
    pinned_gb_s: float | None = None
    own_scale: float | None = None


@dataclass(frozen=True)
class Cpu:
    """The CPU measured here."""

    model: str
    cores: int  # usable by this process
    threads: int  # that torch uses
    peak_gflops: float | None = None  # measured by the probe: a large float32 product
    bandwidth_gb_s: float | None = None  # measured by the probe: a large copy
    dispatch_us: float | None = None  # measured by the probe: one small operation through PyTorch
