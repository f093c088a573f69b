"""Intel's devices through `torch.xpu`. Energy and throttling are not read."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Xpu:
    """One device, by its number."""

    index: int = 0
    asynchronous: bool = True

    @property
    def device(self) -> str:
        """`xpu:N`."""
        return f"xpu:{self.index}"

    def is_present(self) -> bool:
        """Whether PyTorch is built for XPU and sees the device."""
        try:
            import torch
        except ModuleNotFoundError:
            return False
        return hasattr(torch, "xpu") and bool(torch.xpu.is_available()) and self.index < torch.xpu.device_count()

    def name(self) -> str:
        """Name of the device."""
        import torch

        return str(torch.xpu.get_device_name(self.index))

    def synchronise(self) -> None:
        """Wait for every stream of the device."""
        import torch

        torch.xpu.synchronize(self.index)

    def clock_ns(self) -> int:
        """Python's finest clock."""
        return time.perf_counter_ns()

    def energy_j(self) -> float | None:
        """Not known."""
        return None

    def slowed(self) -> str | None:
        """Not known."""
        return None
