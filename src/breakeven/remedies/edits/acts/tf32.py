"""`torch.set_float32_matmul_precision("high")` after the imports."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.switches import switched_on


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Put the switch in, unless the script chooses the precision of products itself. It holds for the whole script."""
    if source.calls("torch.set_float32_matmul_precision"):
        return Refused("the script sets the precision of float32 products itself")
    for node in source.find(cst.Attribute):
        if node.attr.value in ("allow_tf32", "fp32_precision"):
            return Refused(f"the script sets TF32 itself (line {source.line(node)})")
    return switched_on(source, '{torch}.set_float32_matmul_precision("high")')


EDIT = Edit(
    id="tf32",
    promise="changes_mathematics",
    tolerance=None,
    apply=apply,
    safe_when="The script does not choose the precision itself.",
    unsafe_when="Products need more than three decimal figures: solvers, very small learning signals.",
    changes="Products of float32 matrices keep ten bits of their factors, on GPUs from Ampere on; nothing on other devices.",
)
