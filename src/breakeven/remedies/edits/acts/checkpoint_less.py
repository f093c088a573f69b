"""A checkpoint that is written in every step is written once the loop over steps is over."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.source import Change, Loop, New, Source
from breakeven.remedies.edits.variables import inside, leaves, names, variable


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Move the line behind the innermost loop around it, where it overwrites one file and the loop does nothing after it."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no checkpoint is written in a loop over steps here"
    for line in source.find(cst.SimpleStatementLine):
        loops = source.loops(line)
        if not loops or not _saves(source, line) or not sites.touch(source.span(line)):
            continue
        objection = _objection(source, loops[0], line)
        if objection is None:
            changes[line] = lambda _: cst.RemoveFromParent()
            changes[loops[0]] = _then(line)
        else:
            reason = f"line {source.line(line)} stays: {objection}"
    return (
        source.changed(changes, "A crash loses what came after the last turn of the outer loop.") if changes else Refused(reason)
    )


def _saves(source: Source, line: cst.SimpleStatementLine) -> bool:
    """Whether a line does nothing but save: `torch.save(...)`, or a call of a function of this file that does."""
    if len(line.body) != 1 or not isinstance(line.body[0], cst.Expr) or not isinstance(line.body[0].value, cst.Call):
        return False
    call = line.body[0].value
    if source.meaning(call.func) == "torch.save":
        return True
    found = variable(source, call.func) if isinstance(call.func, cst.Name) else None
    if found is None or len(found.stores) != 1 or not isinstance(found.stores[0], cst.FunctionDef):
        return False
    body = found.stores[0]
    writes = source.methods("backward", "step", "append", within=body)
    counts = any(True for _ in source.find(cst.AugAssign, body)) or any(True for _ in source.find(cst.Global, body))
    return bool(source.calls("torch.save", within=body)) and not writes and not counts


def _objection(source: Source, loop: Loop, line: cst.SimpleStatementLine) -> str | None:
    if source.parents[line] is not loop.body or not isinstance(loop, cst.For):
        return "it is not written in every turn of a for loop"
    if loop.body.body[-1] is not line:
        return "the loop goes on after it"
    if any(one is not loop for one in source.find(cst.For, loop)) or (
        len(source.loops(line)) == 1 and source.function(loop) is None
    ):
        return "the loop is one over epochs"
    if len(loop.body.body) == 1 or not source.methods("step", within=loop):
        return "the loop takes no training steps"
    if (
        any(True for kind in (cst.Break, cst.Continue) for _ in source.find(kind, loop))
        or leaves(source, loop) is not None
        or loop.orelse
    ):
        return "the loop may be left early"
    for name in names(source, line):
        found = variable(source, name)
        if found is not None and inside(source, loop, found.stores) and not _is_overwritten(source, line, name):
            return f"{name.value} changes from step to step, so that each step may write its own file"
    return None


def _is_overwritten(source: Source, line: cst.SimpleStatementLine, name: cst.Name) -> bool:
    """Whether a name that changes is only part of what is saved: within the first argument of `torch.save`."""
    call = line.body[0].value if isinstance(line.body[0], cst.Expr) else None
    return isinstance(call, cst.Call) and source.meaning(call.func) == "torch.save" and source.holds(call.args[0], name)


def _then(line: cst.SimpleStatementLine) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        return cst.FlattenSentinel([node, line])

    return change


EDIT = Edit(
    id="checkpoint_less",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="The line is the last of a loop over steps, and every step overwrites the same file.",
    unsafe_when="The machine may be taken away in the middle of an epoch.",
    changes="No number, and the last checkpoint is the same; those in between are no longer written.",
)
