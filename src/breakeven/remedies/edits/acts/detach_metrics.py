"""Losses that are kept in a list or a sum are kept without the graph behind them."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import expression
from breakeven.remedies.edits.source import Change, Source
from breakeven.remedies.edits.values import is_backward
from breakeven.remedies.edits.variables import bound, names, variable


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """`losses.append(loss)` → `losses.append(loss.detach())`, and the same for `total += loss`."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loss is kept with its graph here"
    for line in source.find(cst.SimpleStatementLine):
        if not source.loops(line) or not sites.touch(source.span(line)) or len(line.body) != 1:
            continue
        kept, target = _kept(source, line)
        if kept is None or target is None or not _is_loss(source, kept):
            continue
        if _is_differentiated(source, target):
            reason = f"{source.code(target)} is differentiated (line {source.line(line)})"
            continue
        changes[kept] = expression(f"{kept.value}.detach()")
    return source.changed(changes) if changes else Refused(reason)


def _kept(source: Source, line: cst.SimpleStatementLine) -> tuple[cst.Name | None, cst.Name | None]:
    """The name that a line keeps, and the name of the list or sum that it goes into."""
    (part,) = line.body
    if isinstance(part, cst.AugAssign) and isinstance(part.target, cst.Name) and isinstance(part.value, cst.Name):
        return part.value, part.target
    if isinstance(part, cst.Expr) and isinstance(part.value, cst.Call) and isinstance(part.value.func, cst.Attribute):
        call = part.value
        if part.value.func.attr.value == "append" and len(call.args) == 1 and isinstance(call.args[0].value, cst.Name):
            base = part.value.func.value
            return call.args[0].value, base if isinstance(base, cst.Name) else None
    return None, None


def _is_loss(source: Source, name: cst.Name) -> bool:
    """Whether `backward` is called on a name, or on a sum or product that it is part of."""
    found = variable(source, name)
    if found is None:
        return False
    return any(
        is_backward(source, load) or any(is_backward(source, above) for above in _sums(source, load)) for load in found.loads
    )


def _sums(source: Source, node: cst.CSTNode) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for above in source.above(node):
        if not isinstance(above, cst.BinaryOperation):
            break
        found.append(above)
    return found


def _is_differentiated(source: Source, target: cst.Name) -> bool:
    """Whether a list or sum, or anything computed from it, goes into `backward` or `autograd.grad`."""
    from_it = {target.value}
    for _ in range(6):
        for name in [n for n in source.find(cst.Name) if isinstance(source.parents[n], cst.AssignTarget | cst.Element)]:
            value = bound(source, name)
            if value is not None and from_it & {one.value for one in names(source, value)}:
                from_it.add(name.value)
        for part in source.find(cst.AugAssign):
            if isinstance(part.target, cst.Name) and from_it & {one.value for one in names(source, part.value)}:
                from_it.add(part.target.value)
    for call in source.methods("backward", "grad"):
        if from_it & {one.value for one in names(source, call)}:
            return True
    for node in source.find(cst.Return):
        if (
            node.value is not None
            and from_it & {one.value for one in names(source, node.value)}
            and _returns_graph(source, node, from_it)
        ):
            return True
    return False


def _returns_graph(source: Source, node: cst.Return, from_it: set[str]) -> bool:
    """Whether a function gives such a value to a caller, who might differentiate it: only a function that never goes backward."""
    function = source.function(node)
    return function is not None and not source.methods("backward", within=function)


EDIT = Edit(
    id="detach_metrics",
    promise="bitwise",
    tolerance=None,
    apply=apply,
    safe_when="`backward` is called on the loss itself, and nothing computed from the list or sum is differentiated.",
    unsafe_when="Code outside this file differentiates what is kept.",
    changes="No number.",
)
