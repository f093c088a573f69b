"""One file per remedy that edits source; the tuple of all of them is here."""

from __future__ import annotations

from breakeven.remedies.edits.acts import flush_denormals, fused_optimizer, set_to_none
from breakeven.remedies.edits.records import Edit

#: Every edit, in the order of the docs.
EDITS: tuple[Edit, ...] = (
    set_to_none.EDIT,
    fused_optimizer.EDIT,
    flush_denormals.EDIT,
)
