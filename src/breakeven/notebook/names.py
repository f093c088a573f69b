"""Which names a piece of code needs from outside, and where a session's cells define them. Pure: it runs nothing."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Sequence


def needed(source: str) -> frozenset[str]:
    """Names that the code may read without having made them, those of its functions and classes included.

    >>> sorted(needed("import os\\nx = y\\ndef f(a):\\n    return a + z + len(x)"))
    ['x', 'y', 'z']
    """
    found: set[str] = set()
    _walk(symtable.symtable(source, "<cell>", "exec"), found)
    return frozenset(name for name in found | _read_early(source) if not hasattr(builtins, name))


def definition(name: str, cells: Sequence[str]) -> str | None:
    """The source of the latest function or class of that name at the top of a cell; None: no cell defines one."""
    for cell in reversed(cells):
        try:
            tree = ast.parse(cell)
        except SyntaxError:
            continue
        for node in reversed(tree.body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
                first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
                return "\n".join(cell.splitlines()[first - 1 : node.end_lineno])
    return None


def _walk(table: symtable.SymbolTable, found: set[str]) -> None:
    top = table.get_type() == "module"
    for symbol in table.get_symbols():
        outside = symbol.is_global() or (top and not symbol.is_assigned() and not symbol.is_imported())
        if symbol.is_referenced() and outside and not symbol.is_namespace():
            found.add(symbol.get_name())
    for child in table.get_children():
        _walk(child, found)


def _read_early(source: str) -> set[str]:
    """Names of the top that are assigned and read: whether the reading comes first is not told by a table (`x = x + 1`)."""
    tree = ast.parse(source)
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    changed = {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    table = symtable.symtable(source, "<cell>", "exec")
    local = {s.get_name() for s in table.get_symbols() if s.is_assigned() and not s.is_namespace()}
    return (read & local) | changed
