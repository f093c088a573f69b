"""Which values of a stretch of code stay tensors when they leave it: what evaluation may not give away under inference mode."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.source import Source
from breakeven.remedies.edits.variables import Variable, bound, inside, variable

_READS = ("item", "tolist", "numpy", "size", "format", "join", "count", "index", "keys")
_BUILTINS = ("float", "int", "len", "round", "str", "bool", "min", "max", "sum", "abs", "sorted", "range", "print")
_KEEPS = ("append", "extend", "update", "add", "setdefault", "insert", "put", "save", "log", "write", "add_scalar", "copy_")
_DEPTH = 8


def is_host(source: Source, node: cst.CSTNode, depth: int = _DEPTH) -> bool:
    """Whether an expression is no tensor: a number, text, a reading, or made of such."""
    if depth == 0:
        return False
    if isinstance(node, cst.Integer | cst.Float | cst.SimpleString | cst.FormattedString | cst.ConcatenatedString):
        return True
    if isinstance(node, cst.Name):
        if node.value in ("None", "True", "False"):
            return True
        found = variable(source, node)
        return found is not None and _all_host(source, found, depth)
    if isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in _READS:
            return True
        name = source.meaning(node.func) or ""
        if name in ("float", "int", "len", "round", "str", "bool") or name.startswith(("math.", "time.")):
            return True
        return name in _BUILTINS and all(is_host(source, arg.value, depth - 1) for arg in node.args)
    if isinstance(node, cst.BinaryOperation):
        return is_host(source, node.left, depth - 1) and is_host(source, node.right, depth - 1)
    if isinstance(node, cst.UnaryOperation):
        return is_host(source, node.expression, depth - 1)
    if isinstance(node, cst.IfExp):
        return is_host(source, node.body, depth - 1) and is_host(source, node.orelse, depth - 1)
    if isinstance(node, cst.Tuple | cst.List):
        return all(is_host(source, element.value, depth - 1) for element in node.elements)
    if isinstance(node, cst.Dict):
        return all(isinstance(e, cst.DictElement) and is_host(source, e.value, depth - 1) for e in node.elements)
    if isinstance(node, cst.Comparison):
        return is_host(source, node.left, depth - 1) and all(is_host(source, c.comparator, depth - 1) for c in node.comparisons)
    return False


def gives_tensors_away(source: Source, region: cst.FunctionDef | cst.With | cst.For) -> str | None:
    """What may be a tensor, made in a function or a block, that others can reach afterwards; None where there is none."""
    function = region if isinstance(region, cst.FunctionDef) else source.function(region)
    for node in (*source.find(cst.Global, region), *source.find(cst.Nonlocal, region), *source.find(cst.Yield, region)):
        return f"it writes to what is outside or yields (line {source.line(node)})"
    for back in source.find(cst.Return, region):
        if back.value is not None and not is_host(source, back.value):
            return f"it may give a tensor back (line {source.line(back)})"
    for target in source.find(cst.AssignTarget, region):
        kind: cst.BaseExpression = target.target
        while isinstance(kind, cst.Subscript):
            kind = kind.value
        if isinstance(kind, cst.Attribute) or (
            isinstance(kind, cst.Name) and kind is not target.target and not _is_local(source, region, kind)
        ):
            return f"it writes into an object (line {source.line(target)})"
    for call in source.methods(*_KEEPS, within=region):
        assert isinstance(call.func, cst.Attribute)
        base = call.func.value
        local = isinstance(base, cst.Name) and _is_local(source, region, base)
        if not local and not all(is_host(source, arg.value) for arg in call.args):
            return f"it gives a tensor to an object (line {source.line(call)})"
    if region is function:
        return None
    for name in source.find(cst.Name, region):
        found = variable(source, name)
        if found is None or not inside(source, region, found.stores):
            continue
        for load in found.loads:
            stays = source.holds(region, load)
            if not stays and not _is_bound_between(source, region, found, load) and not _all_host(source, found, _DEPTH):
                return f"{name.value} is used after it (line {source.line(load)})"
    return None


def _all_host(source: Source, found: Variable, depth: int) -> bool:
    """Whether everything that a name is ever bound to, or takes in, is no tensor."""
    if not found.stores:
        return False
    for store in found.stores:
        parent = source.parents.get(store)
        if isinstance(parent, cst.AugAssign):
            if not is_host(source, parent.value, depth - 1):
                return False
            continue
        value = bound(source, store)
        if isinstance(parent, cst.For) and isinstance(parent.iter, cst.Call) and source.meaning(parent.iter.func) == "range":
            continue
        if value is None or not is_host(source, value, depth - 1):
            return False
    for load in found.loads:
        attribute = source.parents[load]
        if isinstance(attribute, cst.Attribute) and attribute.value is load and attribute.attr.value in _KEEPS:
            call = source.parents[attribute]
            if not isinstance(call, cst.Call) or not all(is_host(source, arg.value, depth - 1) for arg in call.args):
                return False
    return True


def _is_local(source: Source, region: cst.CSTNode, name: cst.Name) -> bool:
    found = variable(source, name)
    return found is not None and bool(inside(source, region, found.stores)) and all(
        source.holds(region, store) and not isinstance(store, cst.Param) for store in found.stores
    )  # fmt: skip


def _is_bound_between(source: Source, region: cst.CSTNode, found: Variable, load: cst.Name) -> bool:
    """Whether a later reading sees another value: the name is bound again outside, around the reading."""
    for store in found.stores:
        if source.holds(region, store) or isinstance(store, cst.Param | cst.FunctionDef):
            continue
        block = source.parents.get(source.statement(store))
        at = source.statement(load)
        is_earlier = source.line(store) < source.line(at) or source.holds(source.statement(store), load)
        is_around = any(above is block for above in source.above(at)) or isinstance(source.parents.get(store), cst.For)
        if is_earlier and is_around and not (source.line(store) < source.line(region) < source.line(load)):
            return True
    return False
