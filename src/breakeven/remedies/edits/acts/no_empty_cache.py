"""Calls of `torch.cuda.empty_cache()` in loops go."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import gone
from breakeven.remedies.edits.source import Change, Source


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Take the lines out that do nothing else, in loops and in functions; an emptied `if` goes with them."""
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.calls("torch.cuda.empty_cache"):
        line = source.statement(call)
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 and isinstance(line.body[0], cst.Expr)
        in_loop = bool(source.loops(call)) or source.function(call) is not None
        near = next((one for one in source.above(line) if isinstance(one, cst.If)), line)
        if alone and in_loop and sites.touch(source.span(line), (source.line(near), source.line(line))):
            changes |= gone(source, line)
    return source.changed(changes) if changes else Refused("no torch.cuda.empty_cache() in a loop here")


EDIT = Edit(
    id="no_empty_cache",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="The call is a line of its own in a loop or a function.",
    unsafe_when="Another process on the same GPU needs the memory between steps.",
    changes="No number.",
)
