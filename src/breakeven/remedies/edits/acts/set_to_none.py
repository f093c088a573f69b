"""`zero_grad(set_to_none=False)` becomes `zero_grad()`."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument, without_argument
from breakeven.remedies.edits.source import Change, Source


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Drop the argument, where nothing in the file reads a gradient or freezes a parameter."""
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.methods("zero_grad"):
        kept = argument(call, "set_to_none", 0)
        if kept is not None and source.code(kept.value) == "False" and sites.touch(source.span(source.statement(call))):
            changes[call] = without_argument("set_to_none", 0)
    if not changes:
        return Refused("no zero_grad(set_to_none=False) here")
    for node in source.find(cst.Attribute):
        if node.attr.value == "grad" and source.meaning(node) is None:
            return Refused(f"the script reads or writes .grad (line {source.line(node)}), which may then be None")
        if node.attr.value in ("requires_grad", "requires_grad_"):
            return Refused(
                f"parameters are frozen or thawed (line {source.line(node)}): zeros would still decay them, None does not"
            )
    return source.changed(changes)


EDIT = Edit(
    id="set_to_none",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="Nothing in the file reads `.grad`, and no parameter is frozen or thawed.",
    unsafe_when="A parameter without a gradient in some steps: zeros let momentum and decay go on, None does not.",
    changes="No number, as long as every parameter gets a gradient in every step.",
)
