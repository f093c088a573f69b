"""`torch.set_flush_denormal(True)` after the imports."""

from __future__ import annotations

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.switches import switched_on


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Put the switch in, unless the script sets it itself. It holds for the whole script, whatever line is asked about."""
    if source.calls("torch.set_flush_denormal"):
        return Refused("the script sets flush-to-zero itself")
    return switched_on(source, "{torch}.set_flush_denormal(True)")


EDIT = Edit(
    id="flush_denormals",
    promise="tolerance",
    tolerance=1e-6,
    apply=apply,
    safe_when="The script is run as a program and does not set the switch itself.",
    unsafe_when="Computations that need numbers under 1.2e-38, which training does not.",
    changes="Numbers under 1.2e-38 in magnitude become zero (on the CPU; a GPU keeps them at no cost).",
)
