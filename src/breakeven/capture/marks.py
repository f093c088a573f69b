"""Marks at the head and the exit of each of the user's loops, put in by editing the syntax tree, not the file.

Line numbers stay as they are, so tracebacks do not change. A mark is a name in `builtins` that is `None` while nobody
listens, so an idle mark costs one look-up and a jump. Comprehensions and loops inside libraries carry no mark.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, ModuleType

#: Functions under these decorators are compiled from their bytecode or source by somebody else; they are left alone.
COMPILED = frozenset({"jit", "njit", "vectorize", "guvectorize", "script", "compile", "kernel", "stencil", "cfunc"})


#: Marks that are not of a loop: `--mark`'s line, and the end of the script's imports.
STEP_NAME = "__breakeven_step__"
BEGIN_NAME = "__breakeven_begin__"


@dataclass(frozen=True)
class Loop:
    """One loop in the user's source."""

    number: int
    file: str
    line: int
    end_line: int
    parent: int | None  # number of the loop around it in the same function (or module) body


@dataclass
class Book:
    """All loops seen so far, and whether the source mentions steps at all."""

    loops: list[Loop] = field(default_factory=list)
    by_file: dict[str, list[Loop]] = field(default_factory=dict)
    attributes_called: set[str] = field(default_factory=set)
    names_accelerator: bool = False
    on_new: Callable[[Loop], None] | None = None

    def innermost(self, file: str, line: int) -> Loop | None:
        """The innermost loop of `file` whose lines hold `line`."""
        around = [loop for loop in self.by_file.get(file, ()) if loop.line <= line <= loop.end_line]
        return max(around, key=lambda loop: loop.line, default=None)


def head_name(number: int) -> str:
    """Name in `builtins` of a loop's head mark (two underscores at both ends: class bodies do not mangle it)."""
    return f"__breakeven_head_{number}__"


def exit_name(number: int) -> str:
    """Name in `builtins` of the mark after a loop."""
    return f"__breakeven_exit_{number}__"


def compile_marked(source: bytes, file: str, book: Book, step_line: int | None = None, main: bool = False) -> CodeType:
    """Compile a user's file with marks in its loops.

    Args:
        source: the file's bytes, in whatever encoding it declares.
        file: its path, as tracebacks show it.
        book: where its loops are written down.
        step_line: line before which `breakeven.step()` is called, where `--mark` asks for it.
        main: whether it is the script itself: then the end of its imports is marked too.

    Raises:
        SyntaxError: as Python itself would.
    """
    tree = ast.parse(source, file)
    tree = _Marker(file, book, step_line, main).visit(tree)
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Marker(ast.NodeTransformer):
    def __init__(self, file: str, book: Book, step_line: int | None, main: bool) -> None:
        self.file, self.book, self.step_line, self.main = file, book, step_line, main
        self.around: list[int | None] = [None]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute):
            self.book.attributes_called.add(node.func.attr)
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node.value.partition(":")[0] in ("cuda", "mps", "xpu", "gpu"):
            self.book.names_accelerator = True
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr in ("cuda", "mps", "xpu", "accelerator"):
            self.book.names_accelerator = True
        return self.generic_visit(node)

    def visit_Module(self, node: ast.Module) -> ast.AST:
        imports = [n for n in node.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        self.generic_visit(node)
        if self.main and imports:
            node.body.insert(node.body.index(imports[-1]) + 1, _mark(BEGIN_NAME, imports[-1]))
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if any(_word(d) in COMPILED for d in node.decorator_list):
            return node
        self.around.append(None)
        visited = self.generic_visit(node)
        self.around.pop()
        return visited

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> list[ast.stmt]:
        number = len(self.book.loops)
        loop = Loop(number, self.file, node.lineno, node.end_lineno or node.lineno, self.around[-1])
        self.book.loops.append(loop)
        self.book.by_file.setdefault(self.file, []).append(loop)
        if self.book.on_new is not None:
            self.book.on_new(loop)
        self.around.append(number)
        self.generic_visit(node)
        self.around.pop()
        node.body.insert(0, _mark(head_name(number), node.body[0]))
        return [node, _at_end(_mark(exit_name(number), node), node)]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> list[ast.stmt]:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._loop(node)

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:  # type: ignore[override]  # NodeTransformer says Any
        line = self.step_line
        hit = line is not None and isinstance(node, ast.stmt) and node.lineno == line
        if hit:
            self.step_line = None
        out: ast.AST | list[ast.stmt] = super().visit(node)
        if not hit or not isinstance(node, ast.stmt):
            return out
        return [_mark(STEP_NAME, node), *(out if isinstance(out, list) else [out])]  # type: ignore[list-item]  # a statement




def _mark(name: str, where: ast.AST) -> ast.If:
    """`if NAME: NAME()` at the place of `where`."""
    load = ast.Name(name, ast.Load())
    node = ast.If(test=load, body=[ast.Expr(ast.Call(func=ast.Name(name, ast.Load()), args=[], keywords=[]))], orelse=[])
    ast.copy_location(node, where)
    for child in ast.walk(node):
        ast.copy_location(child, where)
    return node


def _at_end(mark: ast.If, loop: ast.stmt) -> ast.If:
    for child in ast.walk(mark):
        if isinstance(child, (ast.stmt, ast.expr)):
            child.lineno = child.end_lineno = loop.end_lineno or loop.lineno
            child.col_offset = child.end_col_offset = 0
    return mark


def _word(node: ast.AST) -> str:
    """Last name of a decorator: `numba.njit(parallel=True)` is `njit`."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


class MarkingFinder(importlib.abc.MetaPathFinder):
    """Gives marks to the modules that lie beside the user's script; everything else is found as ever."""

    def __init__(self, root: str, book: Book, mark: tuple[str, int] | None = None) -> None:
        self.root, self.book, self.mark = os.path.join(os.path.realpath(root), ""), book, mark

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The ordinary answer, with our loader in it where the file is the user's own."""
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader or not self.owns(spec.origin):
            return None
        spec.loader = _MarkingLoader(fullname, spec.loader.path, self)
        spec.cached = None
        return spec

    def owns(self, file: str | None) -> bool:
        """Whether a file is the user's: under the script's folder and not an installed package."""
        if not file:
            return False
        real = os.path.realpath(file)
        inside = real.startswith(self.root) and not any(real.startswith(p) for p in _INSTALLED)
        return inside and "site-packages" not in real and "dist-packages" not in real


_INSTALLED = tuple(
    os.path.join(os.path.realpath(p), "") for p in {os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__))}
)


class _MarkingLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, finder: MarkingFinder) -> None:
        super().__init__(fullname, path)
        self._finder = finder

    def get_code(self, fullname: str) -> CodeType:  # no cache: bytecode with marks must not be left beside the user's files
        file = self.get_filename(fullname)
        try:
            return compile_marked(self.get_data(file), file, self._finder.book, _line_in(self._finder.mark, file))
        except RecursionError:  # a generated file nested too deeply to edit: take it as it is
            return compile(self.get_data(file), file, "exec", dont_inherit=True)


def _line_in(mark: tuple[str, int] | None, file: str) -> int | None:
    return mark[1] if mark is not None and os.path.realpath(file).endswith(mark[0]) else None


def install(book: Book, finder: MarkingFinder) -> None:
    """Begin to mark: define every mark as idle and put the finder first."""
    for name in (STEP_NAME, BEGIN_NAME):
        if not hasattr(builtins, name):
            setattr(builtins, name, None)
    sys.meta_path.insert(0, finder)
