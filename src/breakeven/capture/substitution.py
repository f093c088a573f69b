"""Values put in the place of expressions of the user's source, in the syntax tree of the child that runs it: no file changes."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence

from breakeven.capture.request import Substitution


def of_file(substitutions: Sequence[Substitution], file: str) -> tuple[Substitution, ...]:
    """Those that are meant for one file, whatever links lead to it."""
    real = os.path.realpath(file)
    return tuple(s for s in substitutions if os.path.realpath(s.file) == real)


def substitute(tree: ast.Module, substitutions: Sequence[Substitution]) -> ast.Module:
    """The tree with each substitution's expression replaced by its value; positions stay, so tracebacks do not change.

    Raises:
        ValueError: an expression is not where it was seen: the file has changed since.
    """
    if not substitutions:
        return tree
    edit = _Edit({(s.line, s.column, s.end_line, s.end_column): s.value for s in substitutions})
    changed = edit.visit(tree)
    if edit.left:
        line = min(edit.left)[0]
        raise ValueError(f"line {line} of {substitutions[0].file} is not what it was when the sweep began")
    assert isinstance(changed, ast.Module)
    return changed


class _Edit(ast.NodeTransformer):
    def __init__(self, values: dict[tuple[int, int, int, int], int | float | bool | str]) -> None:
        self.values, self.left = values, set(values)

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            span = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            if span in self.values:
                self.left.discard(span)
                return ast.copy_location(ast.Constant(self.values[span]), node)
        changed: ast.AST = super().visit(node)
        return changed
