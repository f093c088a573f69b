"""Apple's devices through `torch.mps`. Energy cannot be read without root there."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Mps:
    """The one GPU of an Apple chip."""

    device: str = "mps"
    asynchronous: bool = True

    def is_present(self) -> bool:
        """Whether PyTorch is built for Metal and sees a device."""
        try:
            import torch
        except ModuleNotFoundError:
            return False
        return bool(torch.backends.mps.is_available())

    def name(self) -> str:
        """The chip's name."""
        return f"Apple {platform.processor() or 'GPU'}"

    def synchronise(self) -> None:
        """Wait until all that was queued is done."""
        import torch

        torch.mps.synchronize()

    def clock_ns(self) -> int:
        """Python's finest clock."""
        return time.perf_counter_ns()

    def energy_j(self) -> float | None:
        """Not known."""
        return None

    def slowed(self) -> str | None:
        """Not known."""
        return None
