"""NVIDIA and AMD devices through `torch.cuda`; energy and throttling through NVML, where it is installed (`breakeven[gpu]`)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

#: Bits of NVML's clock event reasons (nvml.h): power cap; heat, by software, by hardware; hardware's own; power brake.
_REASONS = ((0x4, "power"), (0x20, "thermal"), (0x40, "thermal"), (0x8, "thermal"), (0x80, "power"))


@dataclass(frozen=True)
class Cuda:
    """One device, by its number among those that PyTorch sees."""

    index: int = 0
    asynchronous: bool = True

    @property
    def device(self) -> str:
        """`cuda:N`; ROCm's devices are called so too."""
        return f"cuda:{self.index}"

    def is_present(self) -> bool:
        """Whether PyTorch is built for CUDA or ROCm and sees the device."""
        try:
            import torch
        except ModuleNotFoundError:
            return False
        return bool(torch.cuda.is_available()) and self.index < torch.cuda.device_count()

    def name(self) -> str:
        """Name of the device."""
        import torch

        return str(torch.cuda.get_device_name(self.index))

    def synchronise(self) -> None:
        """Wait for every stream of the device; a process that has not used CUDA yet has nothing to wait for."""
        import torch

        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch leaves it without annotations
            torch.cuda.synchronize(self.index)

    def clock_ns(self) -> int:
        """Python's finest clock."""
        return time.perf_counter_ns()

    def energy_j(self) -> float | None:
        """NVML's counter of the board's energy (Volta and later); None for AMD."""
        found = _nvml(self.index)
        if found is None:
            return None
        nvml, handle = found
        try:
            return float(nvml.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3
        except nvml.NVMLError:
            return None

    def slowed(self) -> str | None:
        """NVML's reason for a clock below the usual one, where it is heat or power."""
        found = _nvml(self.index)
        if found is None:
            return None
        nvml, handle = found
        try:
            bits = int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))
        except nvml.NVMLError:
            return None
        return next((reason for bit, reason in _REASONS if bits & bit), None)


def _nvml(index: int) -> tuple[Any, Any] | None:  # NVML's module and handle have no types
    """NVML and its handle of a device of PyTorch's (the two count differently, so the device's identity joins them)."""
    try:
        import pynvml  # type: ignore[import-untyped]  # NVIDIA's binding has no types
        import torch
    except ModuleNotFoundError:
        return None
    try:
        pynvml.nvmlInit()
        identity = torch.cuda.get_device_properties(index).uuid
        return pynvml, pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{identity}".encode())
    except (pynvml.NVMLError, AttributeError, RuntimeError):  # no driver, an older PyTorch, ROCm
        return None
