"""`model.compile()` after the model is made."""

from __future__ import annotations

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.compiling import compiled
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Source


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Compile the models that are trained, whatever line is asked about."""
    return compiled(source, None)


EDIT = Edit(
    id="compile",
    promise="tolerance",
    tolerance=1e-3,
    apply=apply,
    safe_when="The model is made and trained in one function, without hooks, copies, printing or readings in its modules.",
    unsafe_when="Shapes change all the time (it compiles again and again), there is no C++ compiler, or the run is short.",
    changes="Joined operations round otherwise. Parameters and checkpoints keep their names.",
)
