"""How many numbers of a tensor are denormal: a CPU takes some hundred cycles for each, a GPU none. Child process only."""

from __future__ import annotations

from typing import Final

import torch

#: Elements looked at per tensor.
_SAMPLE: Final = 1 << 18
#: Share of denormals from which it is worth a word.
WORTH_A_WORD: Final = 0.001


def denormal_share(tensor: torch.Tensor) -> float:
    """Share of its first elements, 0 to 1; 0 for what is not a plain tensor of float32 or float64, or is empty."""
    if tensor.dtype not in (torch.float32, torch.float64) or tensor.layout is not torch.strided or not tensor.numel():
        return 0.0
    flat = tensor.detach().reshape(-1)[:_SAMPLE]
    size = flat.abs()
    return int(((size > 0) & (size < torch.finfo(tensor.dtype).tiny)).sum()) / flat.numel()
