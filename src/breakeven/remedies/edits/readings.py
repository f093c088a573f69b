"""Readings of a tensor by the host: `loss.item()`, `float(loss)`; and the expressions that are made of one reading."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from breakeven.remedies.edits.source import Loop, Source
from breakeven.remedies.edits.values import is_fresh, is_tensor
from breakeven.remedies.edits.variables import bound, changes_within, inside, variable

_PASS = ("detach", "cpu")
_VALUE, _FACTOR = "{value}", "{factor}"
_QUIET_CALLS = ("round", "abs", "float", "int", "str", "math.sqrt", "math.exp", "math.log")


@dataclass(frozen=True)
class Reading:
    """An expression with one reading in it.

    Attributes:
        whole: the expression.
        tensor: the text of the tensor that is read, without `.item()`.
        source: the tensor's node.
        later: the expression's text with {value} for the reading and {factor} for what must be kept beside it.
        beside: the text of what must be kept beside the tensor, as it changes in the loop; None where nothing does.
        node: the reading itself.
    """

    whole: cst.BaseExpression
    tensor: str
    source: cst.BaseExpression
    later: str
    beside: str | None
    node: cst.BaseExpression


def read_tensor(source: Source, node: cst.CSTNode) -> cst.BaseExpression | None:
    """The tensor that an expression reads to the host, if it does nothing else."""
    if not isinstance(node, cst.Call):
        return None
    inner: cst.BaseExpression | None = None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == "item" and not node.args:
        inner = node.func.value
    elif isinstance(node.func, cst.Name) and source.meaning(node.func) in ("float", "int") and len(node.args) == 1:
        inner = node.args[0].value
        inner = read_tensor(source, inner) or inner
    while inner is not None:
        if (
            isinstance(inner, cst.Call)
            and isinstance(inner.func, cst.Attribute)
            and inner.func.attr.value in _PASS
            and not inner.args
        ):
            inner = inner.func.value
        elif isinstance(inner, cst.Attribute) and inner.attr.value == "data":
            inner = inner.value
        else:
            break
    return inner if inner is not None and is_tensor(source, inner) else None


def find_readings(source: Source, within: cst.CSTNode) -> list[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The outermost readings in a piece of code, each with its tensor."""
    found: list[tuple[cst.BaseExpression, cst.BaseExpression]] = []
    for call in source.find(cst.Call, within):
        tensor = read_tensor(source, call)
        if tensor is not None and not any(source.holds(outer, call) for outer, _ in found):
            found.append((call, tensor))
    return found


def reading(source: Source, loop: Loop, node: cst.BaseExpression) -> Reading | str:
    """An expression taken apart so that it can be evaluated after the loop; or why it cannot."""
    found = find_readings(source, node)
    if len(found) != 1:
        return "it holds no reading of a tensor, or several"
    ((call, tensor),) = found
    kept = _can_be_kept(source, loop, tensor, call)
    if kept is not None:
        return kept
    text = _later_value(source, call)
    beside: str | None = None
    top: cst.CSTNode = call
    while top is not node:
        above = source.parents[top]
        if isinstance(above, cst.BinaryOperation):
            other = above.right if top is above.left else above.left
            said = _braced(source.code(other))
            if not _is_constant(source, loop, other):
                if beside is not None or not isinstance(other, cst.BaseExpression):
                    return "more than one other value goes into it"
                beside, said = source.code(other), _FACTOR
            operator = source.code(above.operator)
            text = f"{text}{operator}{said}" if top is above.left else f"{said}{operator}{text}"
            text = f"({text})" if above.lpar else text
        elif isinstance(above, cst.Arg):
            outer = source.parents[above]
            if not isinstance(outer, cst.Call) or source.meaning(outer.func) not in _QUIET_CALLS:
                return "it is passed to a function"
            rest = [_braced(source.code(arg.value)) for arg in outer.args if arg is not above]
            if outer.args[0] is not above or any(
                not _is_constant(source, loop, arg.value) or arg.keyword for arg in outer.args[1:]
            ):
                return "it is passed to a function"
            text = f"{source.code(outer.func)}({', '.join([text, *rest])})"
            above = outer
        elif isinstance(above, cst.UnaryOperation):
            text = f"{source.code(above.operator)}{text}"
        else:
            return "it is part of a larger expression"
        top = above
    return Reading(node, _kept(source, tensor), tensor, text, beside, call)


def _later_value(source: Source, call: cst.BaseExpression) -> str:
    assert isinstance(call, cst.Call)
    return f"{source.code(call.func)}({_VALUE})" if isinstance(call.func, cst.Name) else _VALUE


def _braced(code: str) -> str:
    return code.replace("{", "{{").replace("}", "}}")


def _kept(source: Source, tensor: cst.BaseExpression) -> str:
    """The tensor without its graph, as text."""
    text = source.code(tensor)
    if isinstance(tensor, cst.BinaryOperation | cst.UnaryOperation | cst.Comparison) and not tensor.lpar:
        return f"({text}).detach()"
    return f"{text}.detach()"


def _is_constant(source: Source, loop: Loop, node: cst.CSTNode) -> bool:
    """Whether an expression has one value throughout a loop and after it: numbers, and names that the loop does not bind."""
    quiet = (cst.Name, cst.Integer, cst.Float, cst.SimpleString, cst.BinaryOperation, cst.UnaryOperation)
    if isinstance(node, cst.BaseExpression) and not isinstance(node, quiet):
        return False
    parts = [child for child in node.children if isinstance(child, cst.BaseExpression)]
    return all(_is_constant(source, loop, child) for child in parts) and not changes_within(source, loop, node)


def _can_be_kept(source: Source, loop: Loop, tensor: cst.BaseExpression, at: cst.CSTNode) -> str | None:
    """Why a tensor cannot be kept until the loop is over: it may be written over. None where it can."""
    if not isinstance(tensor, cst.Name):
        return None if is_fresh(source, tensor) else f"{source.code(tensor)} may be a view of something that is written over"
    found = variable(source, tensor)
    assert found is not None
    made = False
    for store in inside(source, loop, found.stores):
        parent = source.parents.get(store)
        if isinstance(parent, cst.AugAssign):
            if source.line(store) > source.line(at):
                return f"{tensor.value} is changed in place after it is read (line {source.line(store)})"
            continue
        value = bound(source, store)
        if value is None or not is_fresh(source, value):
            return f"{tensor.value} may share its storage with something else (line {source.line(store)})"
        made = made or _comes_before(source, loop, store, at)
    if not made:
        return f"{tensor.value} is not made anew in each turn of the loop"
    for name in found.loads:
        above = source.parents[name]
        if isinstance(above, cst.Attribute) and above.value is name and above.attr.value.endswith("_"):
            return f"{tensor.value} is changed in place (line {source.line(name)})"
        if isinstance(above, cst.Assign) and above.value is name:
            return f"{tensor.value} has a second name (line {source.line(name)})"
    return None


def _comes_before(source: Source, loop: Loop, store: cst.CSTNode, at: cst.CSTNode) -> bool:
    """Whether a statement is always run before another within a turn of the loop: it stands earlier in a block around it."""
    first = source.statement(store)
    block = source.parents.get(first)
    if block is None or not source.holds(loop, first) or source.line(first) >= source.line(at):
        return False
    return block is loop.body or any(above is block for above in source.above(at))
