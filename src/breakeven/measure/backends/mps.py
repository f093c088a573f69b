"""Apple's devices through `torch.mps`. Only called in a child that has PyTorch; not there, it is not present."""

from __future__ import annotations

import platform


def is_present() -> bool:
    """Whether PyTorch is built for Metal and sees a device."""
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.backends.mps.is_available())


def name() -> str:
    """The chip's name."""
    return f"Apple {platform.processor() or 'GPU'}"


def synchronise() -> None:
    """Wait until all that was queued is done."""
    import torch

    torch.mps.synchronize()
