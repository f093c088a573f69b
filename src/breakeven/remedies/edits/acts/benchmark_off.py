"""`cudnn.benchmark = True` becomes False."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import expression
from breakeven.remedies.edits.source import Change, Source


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Turn the written True to False; a line may point to the convolutions that pay for it instead."""
    found = [
        assign
        for target in source.find(cst.AssignTarget)
        if source.meaning(target.target) == "torch.backends.cudnn.benchmark"
        and isinstance(assign := source.parents[target], cst.Assign)
    ]
    changes: dict[cst.CSTNode, Change] = {one.value: expression("False") for one in found if source.code(one.value) == "True"}
    return source.changed(changes) if changes else Refused("the script does not switch cudnn.benchmark on")


EDIT = Edit(
    id="benchmark_off",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="The switch is written as True in this file.",
    unsafe_when="Shapes repeat after all: then the search pays.",
    changes="Another algorithm of cuDNN may round otherwise; nothing on the CPU.",
)
