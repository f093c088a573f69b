"""What a device argument means here."""

from __future__ import annotations

from typing import Any, Final

import torch

CUDA_DEVICE: Final = torch.device("cuda", 0)
CPU_DEVICE: Final = torch.device("cpu")


def names_cuda(device: Any) -> bool:  # Any: whatever the user passed
    """Whether a device argument means the GPU.

    Raises:
        RuntimeError: CUDA's, for the index of a device that is not there.
    """
    if device is None or device is CPU_DEVICE:
        return False
    if isinstance(device, torch.device):
        found = device
    elif isinstance(device, str):
        if not device.startswith("cuda"):
            return False
        found = torch.device(device)
    elif isinstance(device, int) and not isinstance(device, bool):
        check_index(device)
        return True
    else:
        return False
    if found.type != "cuda":
        return False
    check_index(found.index or 0)
    return True


def check_index(index: int) -> None:
    """There is one device.

    Raises:
        torch.AcceleratorError: CUDA's, for any other index.
    """
    if index > 0:
        raise torch.AcceleratorError(
            "CUDA error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
            "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
            "incorrect."
        )
