"""Groups of tensors by device: torch sorts them in C++, where it sees the CPU; here by logical device."""

from __future__ import annotations

from typing import Any

import torch

from breakeven.capture.virtual.devices import CUDA_DEVICE
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch the grouping that optimizers and gradient clipping go through before they take the `foreach` path."""
    real = torch._C._group_tensors_by_device_and_dtype
    is_cuda = recorder.is_cuda

    def group(lists: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:  # Any: torch's nested lists
        found: dict[Any, Any] = {}  # Any: (device, dtype) to (lists, positions)
        for (device, dtype), (columns, positions) in real(lists, with_indices).items():
            first: list[Any] = columns[0]  # Any: tensors, never None in the first list
            on_cuda = [is_cuda(t) for t in first]
            for wanted in (True, False):
                members = [i for i, c in enumerate(on_cuda) if c == wanted]
                if not members:
                    continue
                place = CUDA_DEVICE if wanted else device
                if len(members) == len(on_cuda):
                    found[place, dtype] = (columns, positions)
                else:
                    picked = [[c[i] for i in members] if c else c for c in columns]
                    found[place, dtype] = (picked, [positions[i] for i in members] if positions else positions)
        return found

    patches.set(torch._C, "_group_tensors_by_device_and_dtype", group)
