"""What a data sheet promises, in the units that the formulas use: operations and bytes per microsecond."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from breakeven.machine.gpus import gpus
from breakeven.machine.records import Gpu

#: TFLOP/s → operations per µs, GB/s → bytes per µs, MB → bytes.
_TERA, _GIGA, _MEGA = 1e6, 1e3, 1e6
#: A100 and H100 run float64 products on tensor cores at twice the vector rate (NVIDIA A100 and H100 data sheets: 19.5 and 67
#: TFLOP/s).
_FP64_TENSOR = {"8.0": 2.0, "9.0": 2.0}
#: What the catalog's blanks are filled with, per multiprocessor: the smallest that any device of its kind has (GTX 1050 Ti: 1
#: MB for 6 SM).
_L2_PER_SM = 1 / 6
#: Bytes per µs and lane that PCI Express moves, by generation, after encoding (PCI-SIG: 0.25, 0.5, 0.985, 1.969, 3.938 GB/s).
_PCIE_LANE = {1: 250.0, 2: 500.0, 3: 985.0, 4: 1969.0, 5: 3938.0}

#: float32 products run on matrix units at twice the vector rate (AMD Instinct MI100 and MI210 data sheets: 46.1 and 45.3
#: TFLOP/s).
_MATRIX_UNITS = {"CDNA 1.0": 2.0, "CDNA 2.0": 2.0}
#: Caches behind the L2 (AMD: Infinity Cache of RX 6900 XT, RX 7900 XTX, MI300X).
_LAST_LEVEL_MB = {"RDNA 2.0": 128.0, "RDNA 3.0": 96.0, "CDNA 3.0": 256.0}
#: Order of a vendor's generations: what a device that nobody measured is served from is the nearest that somebody did.
_GENERATIONS = {
    "Kepler": 1,
    "Kepler 2.0": 1,
    "Maxwell": 2,
    "Maxwell 2.0": 2,
    "Pascal": 3,
    "Volta": 4,
    "Turing": 5,
    "Ampere": 6,
    "Ada Lovelace": 7,
    "Hopper": 8,
    "Blackwell": 9,
    "Blackwell 2.0": 9,
    "GCN 5.0": 1,
    "GCN 5.1": 1,
    "RDNA 2.0": 2,
    "RDNA 3.0": 2,
    "CDNA 1.0": 3,
    "CDNA 2.0": 4,
    "CDNA 3.0": 5,
}
#: Compute capabilities and architectures with stacked memory (HBM); the others have GDDR, DDR or LPDDR. Streams reach another
#: share
#: of the data sheet's rate on each.
_STACKED = {"6.0", "7.0", "8.0", "9.0", "10.0", "GCN 5.0", "GCN 5.1", "CDNA 1.0", "CDNA 2.0", "CDNA 3.0", "Generation 12.5"}
#: How the clock that products can keep up falls with the power that a board has: its share of the boost clock is (W per TFLOP/s
#: of the board over the median of the boards with its kind of multiprocessor) to this power, and never above 1. Large float32
#: products reach 0.50 to 0.55 of the boost rate on a T4 (0.39 of the median), and 0.94 to 0.97 on its relatives V100 PCIe and
#: SXM2 (1.0, 1.08); 0.45 on a P4 (0.61), 0.67 on a P100 (1.0) at the same shapes; 0.85 on an A100 PCIe 40 GB (0.8), and 0.94 on
#: one with 80 GB (0.96) (DeepBench, NeuSight): powers of 0.65, 0.8 and 0.5. A third would be voltage in proportion to the clock,
#: 1 constant voltage.
_POWER: Final = 0.65
#: The same of convolutions, which leave more of the units idle: large ones reach 0.61 to 0.64 of a V100's share of the boost rate
#: on a T4 in each of the three passes (DeepBench): a power of 0.5.
_POWER_CONVOLVING: Final = 0.5


@dataclass(frozen=True, eq=False)  # compared and hashed by identity: `rates` makes one per device
class Rates:
    """The rates of one device.

    Attributes:
        matrix: operations per µs of products that its power sustains, by dtype; where it has no unit for a dtype, of float32.
        vector: the same of everything else, at the boost clock.
        sustained: share of the boost clock that products can keep up.
        bandwidth: bytes per µs of its memory.
        link: bytes per µs of its PCI Express link; of its memory where it shares the host's (no link).
        l2_bytes, cache_bytes: its L2, and the largest cache before the memory.
        generation: of its vendor, in order of time.
        memory: `stacked` (HBM) or `plain`.
    """

    name: str
    vendor: str
    architecture: str
    matrix: dict[str, float]
    vector: dict[str, float]
    tensor: frozenset[str]
    bandwidth: float
    link: float
    sms: float
    clock_mhz: float
    l2_bytes: float
    cache_bytes: float
    generation: int
    memory: str
    sustained: float

    def convolving(self, dtype: str) -> float:
        """Operations per µs of convolutions that its power sustains."""
        return float(self.matrix[dtype] * self.sustained ** (_POWER_CONVOLVING / _POWER - 1.0))

    def ceiling(self, dtype: str) -> float:
        """The multiple of `matrix` that the data sheet allows: the boost clock, and matrix units that its float32 rate lacks."""
        return (_MATRIX_UNITS.get(self.architecture, 1.0) if dtype == "float32" else 1.0) / self.sustained


class NotPricedError(ValueError):
    """A row that has no price, and why."""


@lru_cache(maxsize=512)
def rates(gpu: Gpu) -> Rates:
    """The rates of a device of the catalog.

    Raises:
        NotPricedError: its data sheet lacks what every price needs.
    """
    if not (gpu.fp32_tflops and gpu.memory_bandwidth_gb_s and gpu.sm_count and gpu.boost_clock_mhz):
        raise NotPricedError(f"the catalog lacks the rates of {gpu.name}")
    single = gpu.fp32_tflops * _TERA
    double = gpu.fp64_tflops * _TERA if gpu.fp64_tflops else None
    matrix = {
        "float32": single,
        "tf32": gpu.tensor_tf32_tflops * _TERA if gpu.tensor_tf32_tflops else single,
        "float16": gpu.tensor_fp16_tflops * _TERA if gpu.tensor_fp16_tflops else single,
        "bfloat16": gpu.tensor_bf16_tflops * _TERA if gpu.tensor_bf16_tflops else single,
    }
    vector = {"float32": single, "tf32": single, "float16": single, "bfloat16": single}
    if double is not None:
        vector["float64"] = double
        matrix["float64"] = double * _FP64_TENSOR.get(gpu.compute_capability or "", 1.0)
    units = {"tf32": gpu.tensor_tf32_tflops, "float16": gpu.tensor_fp16_tflops, "bfloat16": gpu.tensor_bf16_tflops}
    tensor = frozenset(dtype for dtype, rate in units.items() if rate)
    sustained = _sustained(gpu)
    matrix = {dtype: rate * sustained for dtype, rate in matrix.items()}
    bandwidth = gpu.memory_bandwidth_gb_s * _GIGA
    link = _PCIE_LANE[gpu.pcie_gen] * gpu.pcie_lanes if gpu.pcie_gen and gpu.pcie_lanes else bandwidth
    l2 = gpu.l2_mb if gpu.l2_mb else gpu.sm_count * _L2_PER_SM
    return Rates(
        gpu.name,
        gpu.vendor,
        gpu.architecture,
        matrix,
        vector,
        tensor,
        bandwidth,
        link,
        float(gpu.sm_count),
        gpu.boost_clock_mhz,
        l2 * _MEGA,
        max(l2, _LAST_LEVEL_MB.get(gpu.architecture, 0.0)) * _MEGA,
        _GENERATIONS.get(gpu.architecture, 0),
        "stacked" if gpu.compute_capability in _STACKED or gpu.architecture in _STACKED else "plain",
        sustained,
    )


def _sustained(gpu: Gpu) -> float:
    usual = _usual_power().get(_relatives(gpu))
    if usual is None or not (gpu.tdp_w and gpu.fp32_tflops):
        return 1.0
    return float(min((gpu.tdp_w / gpu.fp32_tflops / usual) ** _POWER, 1.0))


@lru_cache(maxsize=1)
def _usual_power() -> Mapping[str, float]:
    """The median over the catalog's boards of W per TFLOP/s, by who are relatives."""
    found: dict[str, list[float]] = {}
    for gpu in gpus():
        if gpu.tdp_w and gpu.fp32_tflops:
            found.setdefault(_relatives(gpu), []).append(gpu.tdp_w / gpu.fp32_tflops)
    return {kind: statistics.median(values) for kind, values in found.items()}


def _relatives(gpu: Gpu) -> str:
    """Boards with the same kind of multiprocessor: by compute capability where there is one."""
    return gpu.compute_capability or gpu.architecture
