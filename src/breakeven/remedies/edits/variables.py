"""Variables of a script: where a name is bound, where it is read, and what is bound to it, across functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from libcst import metadata

from breakeven.remedies.edits.source import Loop, Source


@dataclass(frozen=True)
class Variable:
    """One variable.

    Attributes:
        name: its name.
        stores: the nodes that bind it: names in targets, parameters, imports, functions, classes.
        loads: the names that read it, wherever they stand.
    """

    name: str
    stores: tuple[cst.CSTNode, ...]
    loads: tuple[cst.Name, ...]


def variable(source: Source, node: cst.Name) -> Variable | None:
    """The variable that a name stands for; None where the file binds no such name."""
    scope = source.scopes.get(node)
    if scope is None:
        return None
    found = [one for one in scope[node.value] if isinstance(one, metadata.Assignment)]
    if not found:
        return None
    stores = {one.node: None for one in found}
    loads = {access.node: None for one in found for access in one.references if isinstance(access.node, cst.Name)}
    stores |= {name: None for name in loads if _is_added_to(source, name)}  # a target of `+=` is read and bound
    return Variable(node.value, tuple(stores), tuple(name for name in loads if not _is_added_to(source, name)))


def bound(source: Source, store: cst.CSTNode) -> cst.BaseExpression | None:
    """The expression that a plain assignment binds to a name (also in `a, b = …, …`); None for any other binding."""
    parent = source.parents.get(store)
    if isinstance(parent, cst.AnnAssign) and parent.target is store:
        return parent.value
    if isinstance(parent, cst.AssignTarget):
        above = source.parents[parent]
        assert isinstance(above, cst.Assign)
        return above.value
    if isinstance(parent, cst.Element):
        row = source.parents[parent]
        target = source.parents[row]
        if isinstance(row, cst.Tuple | cst.List) and isinstance(target, cst.AssignTarget):
            assign = source.parents[target]
            assert isinstance(assign, cst.Assign)
            if isinstance(assign.value, cst.Tuple | cst.List) and len(assign.value.elements) == len(row.elements):
                value = assign.value.elements[[e is parent for e in row.elements].index(True)]
                return value.value if isinstance(value, cst.Element) else None
    return None


def only_value(source: Source, node: cst.Name) -> cst.BaseExpression | None:
    """The one expression that a name is ever bound to; None where there are none or several."""
    found = variable(source, node)
    return bound(source, found.stores[0]) if found is not None and len(found.stores) == 1 else None


def inside(source: Source, outer: cst.CSTNode, nodes: tuple[cst.CSTNode, ...]) -> list[cst.CSTNode]:
    """Those of the nodes that lie within another."""
    return [node for node in nodes if source.holds(outer, node)]


def names(source: Source, node: cst.CSTNode) -> Iterator[cst.Name]:
    """The plain names in a piece of code: no attributes, no keywords."""
    for name in source.find(cst.Name, node):
        parent = source.parents[name]
        if isinstance(parent, cst.Attribute) and parent.attr is name:
            continue
        if isinstance(parent, cst.Arg) and parent.keyword is name:
            continue
        yield name


def changes_within(source: Source, loop: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether any name in an expression is bound anew within a loop, its header included."""
    for name in names(source, node):
        found = variable(source, name)
        if found is not None and inside(source, loop, found.stores):
            return True
    return False


def leaves(source: Source, loop: Loop) -> cst.CSTNode | None:
    """What ends a loop past the lines after it: a return, a yield, or an enclosing `try`; None where nothing does."""
    function = source.function(loop)
    for kind in (cst.Return, cst.Yield, cst.Await):
        for node in source.find(kind, loop):
            if source.function(node) is function:
                return node
    for above in source.above(loop):
        if isinstance(above, cst.FunctionDef | cst.Lambda):
            return None
        if isinstance(above, cst.Try | cst.TryStar):
            return above
    return None


def _is_added_to(source: Source, name: cst.Name) -> bool:
    parent = source.parents[name]
    return isinstance(parent, cst.AugAssign) and parent.target is name
