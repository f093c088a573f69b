"""Double precision becomes single, everywhere in a script at once."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import gone
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.values import is_module
from breakeven.remedies.edits.variables import only_value

_DOUBLE = ("torch.float64", "torch.double")
_TAKEN = ("torch.from_numpy", "torch.as_tensor", "torch.tensor")
_FLOATS = ("random", "uniform", "normal", "standard_normal", "randn", "rand", "linspace", "zeros", "ones")
_KEEPS = (
    "stack",
    "concatenate",
    "vstack",
    "hstack",
    "sin",
    "cos",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "abs",
    "array",
    "cumsum",
    "square",
)
_WHOLE = ("randint", "integers", "argmax", "argsort", "permutation")
_DEPTH = 10


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Change all places or none: two precisions in one product are an error."""
    changes: dict[cst.CSTNode, Change] = {}
    for call in source.methods("double"):
        assert isinstance(call.func, cst.Attribute)
        if call.args:
            return Refused(f"it is not clear what .double() is at line {source.line(call)}")
        changes[call] = _receiver if is_module(source, call.func.value) else _single
    for node in source.find(cst.Attribute):
        if source.meaning(node) not in _DOUBLE:
            continue
        above = source.parents[node]
        taker = source.parents[above] if isinstance(above, cst.Arg) else None
        if not isinstance(taker, cst.Call):
            return Refused(f"float64 is not only passed on (line {source.line(node)})")
        line = source.statement(node)
        if source.meaning(taker.func) == "torch.set_default_dtype":
            if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
                return Refused("the default is not set on a line of its own")
            changes |= gone(source, line)
        else:
            changes[node] = lambda old: old.with_changes(attr=cst.Name("float32"))
    for call in source.calls(*_TAKEN):
        kind = _numpy_kind(source, call.args[0].value, _DEPTH) if call.args else None
        is_cast = isinstance(source.parents[call], cst.Attribute) and source.code(source.parents[call]).endswith(
            (".float", ".double", ".long")
        )
        if any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in call.args) or is_cast:
            continue
        if kind is None and (source.meaning(call.func) == "torch.from_numpy" or not _is_plain(call)):
            return Refused(f"it is not clear what numbers come in at line {source.line(call)}")
        if kind == "float":
            changes[call] = _as_single
    return source.changed(changes) if changes else Refused("nothing here is in double precision")


def _numpy_kind(source: Source, node: cst.CSTNode, depth: int) -> str | None:
    """What a NumPy expression holds: "float" (of 64 bits), "whole", or None where the file does not show it."""
    if depth == 0:
        return None
    if isinstance(node, cst.Name):
        value = only_value(source, node)
        return _numpy_kind(source, value, depth - 1) if value is not None else None
    if isinstance(node, cst.BinaryOperation):
        sides = {_numpy_kind(source, node.left, depth - 1), _numpy_kind(source, node.right, depth - 1)}
        return "float" if "float" in sides else None
    if isinstance(node, cst.UnaryOperation):
        return _numpy_kind(source, node.expression, depth - 1)
    if isinstance(node, cst.Subscript):
        return _numpy_kind(source, node.value, depth - 1)
    if isinstance(node, cst.List) and node.elements:
        return _numpy_kind(source, node.elements[0].value, depth - 1)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    method, name = node.func.attr.value, source.meaning(node.func) or ""
    if any(arg.keyword is not None and arg.keyword.value == "dtype" for arg in node.args) or method == "astype":
        return "whole" if "int" in source.code(node).rsplit("(", 1)[-1] else None
    is_numpy = name.startswith("numpy.") or _is_generator(source, node.func.value)
    if is_numpy and method in _FLOATS:
        return "float"
    if is_numpy and method in _WHOLE:
        return "whole"
    if is_numpy and method in _KEEPS and node.args:
        return _numpy_kind(source, node.args[0].value, depth - 1)
    if not is_numpy and method in ("std", "mean", "sum", "reshape", "copy", "cumsum"):
        return _numpy_kind(source, node.func.value, depth - 1)
    return None


def _is_generator(source: Source, node: cst.CSTNode) -> bool:
    value = only_value(source, node) if isinstance(node, cst.Name) else node
    return isinstance(value, cst.Call) and source.meaning(value.func) in ("numpy.random.default_rng", "numpy.random.RandomState")


def _is_plain(call: cst.Call) -> bool:
    """Whether `torch.tensor` gets Python numbers, which become float32 by themselves."""
    return isinstance(call.args[0].value, cst.List | cst.Integer | cst.Float | cst.ListComp | cst.Tuple)


def _receiver(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.func.value


def _single(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.Call)
    assert isinstance(node.func, cst.Attribute)
    return node.with_changes(func=node.func.with_changes(attr=cst.Name("float")))


def _as_single(node: cst.CSTNode) -> New:
    assert isinstance(node, cst.BaseExpression)
    return cst.Call(cst.Attribute(node, cst.Name("float")))


EDIT = Edit(
    id="float32",
    promise="changes_mathematics",
    tolerance=None,
    apply=apply,
    safe_when="Every place that makes doubles is seen: `.double()`, `float64`, and arrays of NumPy whose kind the file shows.",
    unsafe_when="More than seven figures are needed: long sums, differences of nearly equal numbers, some solvers.",
    changes="Numbers have seven figures instead of sixteen.",
)
