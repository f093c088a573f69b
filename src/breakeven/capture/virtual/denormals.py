"""Looks for denormal numbers in what operations compute with."""

from __future__ import annotations

from typing import Final

import torch

from breakeven.capture.denormals import WORTH_A_WORD, denormal_share
from breakeven.capture.virtual import facts
from breakeven.capture.virtual.notes import Notes

#: Elements from which on a tensor is looked at.
_LEAST: Final = 16


def check(notes: Notes, site: int, name: str, inputs: list[torch.Tensor]) -> None:
    """Look at the floating inputs of one operation (below the mode: nothing here is recorded)."""
    for tensor in inputs:
        share = denormal_share(tensor) if tensor.numel() >= _LEAST else 0.0
        if share > WORTH_A_WORD:
            notes.note(
                facts.DENORMALS, f"{name} computes with denormal numbers ({share:.0%} of an input)", site,
                op=name, fraction=share, elements=tensor.numel(),
            )  # fmt: skip
            return
