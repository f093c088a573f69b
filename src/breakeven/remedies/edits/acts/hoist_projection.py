"""The product of a time step's input with weights is computed for all steps before the loop."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import before, expression
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.switches import fresh
from breakeven.remedies.edits.time_loops import TimeSlice, loop_variable, time_slices, trains
from breakeven.remedies.edits.values import made_by
from breakeven.remedies.edits.variables import changes_within


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Hoist every product with a present slice, loop by loop."""
    changes: dict[cst.CSTNode, Change] = {}
    reason = "no loop over time steps multiplies its input with weights here"
    taken = 0
    for loop in source.find(cst.For):
        products = [(one, product) for one in time_slices(source, loop) if (product := _product(source, loop, one)) is not None]
        products = [pair for pair in products if sites.touch(source.span(loop))]
        if not products or any(True for inner in source.find(cst.For, loop.body)):
            continue
        if trains(source, loop):
            reason = f"parameters may change within the loop (line {source.line(loop)})"
            continue
        lines, headers = [], []
        counter = loop_variable(source, loop)
        if counter is None and not isinstance(loop.target, cst.Name):
            reason = f"the loop's header is not a plain one (line {source.line(loop)})"
            continue
        for slice_, product in products:
            taken += 1
            name = fresh(source, f"projected{'' if taken == 1 else f'_{taken}'}")
            whole = _with(source, product, slice_)
            if counter is not None:
                index = f"[{counter}]" if slice_.dim == 0 else f"[:, {counter}]"
                changes[product] = expression(name + index)
            else:
                headers.append((f"{name}_now", name if slice_.dim == 0 else f"{name}.unbind(1)"))
                changes[product] = expression(f"{name}_now")
            lines.append(f"{name} = {whole}")
        changes[loop] = _opened(source, "\n".join(lines), headers)
    return source.changed(changes) if changes else Refused(reason)


def _product(source: Source, loop: cst.For, one: TimeSlice) -> cst.BaseExpression | None:
    """The product that a slice goes into: `linear(x[t])`, `F.linear(x[t], w, b)`, `x[t] @ w`, with weights that stay."""
    above = source.parents[one.node]
    if isinstance(above, cst.BinaryOperation):
        fixed = isinstance(above.operator, cst.MatrixMultiply) and above.left is one.node and _stays(source, loop, above.right)
        return above if fixed else None
    call = source.parents[above] if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call) or call.args[0].value is not one.node:
        return None
    if source.meaning(call.func) in ("torch.nn.functional.linear", "torch.matmul", "torch.nn.functional.embedding"):
        return call if all(_stays(source, loop, arg.value) for arg in call.args[1:]) else None
    makers = made_by(source, call.func)
    linear = bool(makers) and all(source.meaning(maker.func) == "torch.nn.Linear" for maker in makers)
    return call if linear and len(call.args) == 1 else None


def _stays(source: Source, loop: cst.For, node: cst.CSTNode) -> bool:
    """Whether weights are the same in every turn: a name or an attribute (perhaps transposed) that the loop does not bind."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "t" and not node.args:
        node = node.func.value
    if not isinstance(node, cst.Name | cst.Attribute) or changes_within(source, loop, node):
        return False
    stored = [t for t in source.find(cst.AssignTarget, loop) if source.same(t.target, node)]
    stored_too = [t for t in source.find(cst.AugAssign, loop) if source.same(t.target, node)]
    return not stored and not stored_too


def _with(source: Source, product: cst.BaseExpression, one: TimeSlice) -> str:
    """The product's code with the whole sequence for the slice."""
    new = product.deep_replace(one.node, cst.parse_expression(one.sequence))
    assert isinstance(new, cst.CSTNode)
    return source.code(new)


def _opened(source: Source, code: str, headers: list[tuple[str, str]]) -> Change:
    """Put the products before the loop, and lead them in beside its own sequence where it has no counter."""
    put = before(source, code)

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.For)
        if headers:
            names = ", ".join([source.code(node.target), *(name for name, _ in headers)])
            values = ", ".join([source.code(node.iter), *(value for _, value in headers)])
            target = cst.parse_expression(names)
            assert isinstance(target, cst.Tuple)
            node = node.with_changes(target=target, iter=cst.parse_expression(f"zip({values})"))
        return put(node)

    return change


EDIT = Edit(
    id="hoist_projection",
    promise="tolerance",
    tolerance=1e-4,
    apply=apply,
    safe_when="A loop over time steps multiplies the present slice of a sequence with weights, and changes neither.",
    unsafe_when="Time is not the dimension that the slice shows: two-dimensional data with features first.",
    changes="One product instead of one per time step: results differ by rounding.",
)
