"""Counts denormal numbers in what operations compute with: a CPU takes some hundred cycles for each, a GPU none."""

from __future__ import annotations

from typing import Final

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.notes import Notes

#: Elements looked at per tensor.
_SAMPLE: Final = 1 << 18
#: Share of denormals from which it is worth a word.
_SHARE: Final = 0.001


def check(notes: Notes, site: int, name: str, inputs: list[torch.Tensor]) -> None:
    """Look at the floating inputs of one operation (below the mode: nothing here is recorded)."""
    for tensor in inputs:
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.numel() < 16 or tensor.layout is not torch.strided:
            continue
        flat = tensor.detach().reshape(-1)[:_SAMPLE]
        size = flat.abs()
        found = int(((size > 0) & (size < torch.finfo(tensor.dtype).tiny)).sum())
        share = found / flat.numel()
        if share > _SHARE:
            notes.note(
                facts.DENORMALS, f"{name} computes with denormal numbers ({share:.0%} of an input)", site,
                op=name, fraction=share, elements=tensor.numel(),
            )  # fmt: skip
            return
