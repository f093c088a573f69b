"""`model.compile(mode="reduce-overhead")`: the model's launches are recorded once and replayed as CUDA graphs."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.compiling import compiled
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Source


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Record the models that are trained; refuse where outputs are kept from step to step, which a replay would overwrite."""
    for call in source.methods("append"):
        kept = call.args[0].value if call.args else None
        if source.loops(call) and isinstance(kept, cst.Name):
            return Refused(f"a tensor may be kept from step to step (line {source.line(call)}), which a replay overwrites")
    return compiled(source, "reduce-overhead")


EDIT = Edit(
    id="cuda_graph",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="As for `compile`, and no output of a step is kept as it is.",
    unsafe_when="Outputs of the model are used after the next call of it, or shapes change.",
    changes="Joined operations round otherwise. Outputs are overwritten by the next step.",
)
