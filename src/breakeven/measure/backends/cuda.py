"""NVIDIA and AMD devices through `torch.cuda`. Only called in a child that has PyTorch; not there, it is not present."""

from __future__ import annotations


def is_present() -> bool:
    """Whether PyTorch is built for CUDA or ROCm and sees a device."""
    try:
        import torch
    except ModuleNotFoundError:
        return False
    return bool(torch.cuda.is_available())


def name() -> str:
    """Name of the device in use."""
    import torch

    return str(torch.cuda.get_device_name())


def synchronise() -> None:
    """Wait for every stream of the device in use; a script that has not used the device yet has nothing to wait for."""
    import torch

    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # torch leaves it without annotations
        torch.cuda.synchronize()
