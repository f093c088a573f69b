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

from breakeven.capture.request import Substitution
from breakeven.capture.substitution import of_file, substitute

#: Functions under these decorators are compiled from their bytecode or source by somebody else; they are left alone.
COMPILED = frozenset({"jit", "njit", "vectorize", "guvectorize", "script", "compile", "kernel", "stencil", "cfunc"})


#: Mark of `--mark`'s line.
STEP_NAME = "__breakeven_step__"

#: Methods whose statements carry no marks: they are called by libraries, many times.
INNER = frozenset({"forward", "__getitem__", "__len__", "__iter__", "__next__", "backward"})


@dataclass(frozen=True)
class Loop:
    """One loop in the user's source."""

    number: int
    file: str
    line: int
    end_line: int
    parent: int | None  # number of the loop around it in the same function (or module) body


@dataclass(frozen=True)
class Statement:
    """One statement outside loops."""

    number: int
    file: str
    line: int


@dataclass
class Book:
    """All loops and all statements outside loops seen so far, and what the source mentions.

    Attributes:
        loops: by number.
        statements: by number.
        by_file: the loops of each file.
        words: every name and attribute that is spelled: `optim`, `backward` …
        names_accelerator: whether `cuda` or its like is spelled somewhere.
        on_new: told of each loop as it is found.
        on_statement: told of each statement as it is found.
    """

    loops: list[Loop] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    by_file: dict[str, list[Loop]] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    names_accelerator: bool = False
    on_new: Callable[[Loop], None] | None = None
    on_statement: Callable[[Statement], None] | None = None

    def innermost(self, file: str, line: int) -> Loop | None:
        """The innermost loop of `file` whose lines hold `line`."""
        around = [loop for loop in self.by_file.get(file, ()) if loop.line <= line <= loop.end_line]
        return max(around, key=lambda loop: loop.line, default=None)


def head_name(number: int) -> str:
    """Name in `builtins` of a loop's head mark (two underscores at both ends: class bodies do not mangle it)."""
    return f"__breakeven_head_{number}__"


def line_name(number: int) -> str:
    """Name in `builtins` of the mark before a statement outside loops."""
    return f"__breakeven_line_{number}__"


def exit_name(number: int) -> str:
    """Name in `builtins` of the mark after a loop."""
    return f"__breakeven_exit_{number}__"


def compile_marked(
    source: bytes, file: str, book: Book, step_line: int | None = None, values: Sequence[Substitution] = ()
) -> CodeType:
    """Compile a user's file with marks in its loops.

    Args:
        source: the file's bytes, in whatever encoding it declares.
        file: its path, as tracebacks show it.
        book: where its loops are written down.
        step_line: line before which `breakeven.step()` is called, where `--mark` asks for it.
        values: what is put in the place of expressions of this file.

    Raises:
        SyntaxError: as Python itself would.
        ValueError: an expression is not where it was seen.
    """
    tree = substitute(ast.parse(source, file), values)
    _Marker(file, book, step_line).visit(tree)
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class _Marker(ast.NodeTransformer):
    def __init__(self, file: str, book: Book, step_line: int | None) -> None:
        self.file, self.book, self.step_line = file, book, step_line
        self.around: list[int | None] = [None]
        self.inner = [False]
        self.marked: ast.AST | None = None

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.book.words.add(node.id)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node.value.partition(":")[0] in ("cuda", "mps", "xpu", "gpu"):
            self.book.names_accelerator = True
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.book.words.add(node.attr)
        if node.attr in ("cuda", "mps", "xpu", "accelerator"):
            self.book.names_accelerator = True
        return self.generic_visit(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if any(_word(d) in COMPILED for d in node.decorator_list):
            return node
        self.around.append(None)
        self.inner.append(node.name in INNER)
        visited = self.generic_visit(node)
        self.inner.pop()
        self.around.pop()
        return visited

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> list[ast.stmt]:
        number, marked = len(self.book.loops), self.marked is node
        loop = Loop(number, self.file, node.lineno, node.end_lineno or node.lineno, self.around[-1])
        self.book.loops.append(loop)
        self.book.by_file.setdefault(self.file, []).append(loop)
        if self.book.on_new is not None:
            self.book.on_new(loop)
        self.around.append(number)
        self.generic_visit(node)
        self.around.pop()
        node.body.insert(0, _mark(head_name(number), node.body[0]))
        if marked:
            node.body.insert(0, _mark(STEP_NAME, node.body[0]))
        return [node, _at_end(_mark(exit_name(number), node), node)]

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._loop(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> list[ast.stmt]:
        return self._loop(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._loop(node)

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        line = self.step_line
        hit = line is not None and isinstance(node, ast.stmt) and node.lineno == line
        if hit:
            self.step_line, self.marked = None, node
        out: ast.AST | list[ast.stmt] = super().visit(node)
        if not isinstance(node, ast.stmt):
            return out
        before = [_mark(STEP_NAME, node)] if hit and not isinstance(node, _LOOPS) else []
        if self._is_outside(node):
            before.append(_mark(line_name(self._note(node)), node))
        return [*before, *(out if isinstance(out, list) else [out])] if before else out

    def _is_outside(self, node: ast.stmt) -> bool:
        """Whether a statement lies outside loops, and in code that is run line by line."""
        if self.around[-1] is not None or self.inner[-1] or isinstance(node, _SILENT):
            return False
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            return False
        return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    def _note(self, node: ast.stmt) -> int:
        statement = Statement(len(self.book.statements), self.file, node.lineno)
        self.book.statements.append(statement)
        setattr(builtins, line_name(statement.number), None)
        if self.book.on_statement is not None:
            self.book.on_statement(statement)
        return statement.number


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SILENT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Pass, ast.Break, ast.Continue)


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

    def __init__(
        self, root: str, book: Book, mark: tuple[str, int] | None = None, substitutions: Sequence[Substitution] = ()
    ) -> None:
        self.root, self.book, self.mark = os.path.join(os.path.realpath(root), ""), book, mark
        self.substitutions = substitutions

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

    def compile(self, source: bytes, file: str) -> CodeType:
        """Compile one of the user's files with its marks."""
        here = self.mark is not None and os.path.realpath(file) == self.mark[0]
        values = of_file(self.substitutions, file)
        try:
            return compile_marked(source, file, self.book, self.mark[1] if here and self.mark is not None else None, values)
        except RecursionError:  # a generated file, nested too deeply to edit: take it as it is
            if values:
                raise
            return compile(source, file, "exec", dont_inherit=True)

    def owns(self, file: str | None) -> bool:
        """Whether a file is the user's: under the script's folder and not an installed package."""
        if not file:
            return False
        return os.path.realpath(file).startswith(self.root) and not is_installed(file)

    def follow(self, root: str) -> None:
        """Another program takes this one's place: what lies beside it is the user's, and what the first one said is forgotten."""
        self.root = os.path.join(os.path.realpath(root), "")
        self.book.words.clear()
        self.book.names_accelerator = False


def is_installed(file: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to us."""
    real = os.path.realpath(file)
    return any(real.startswith(p) for p in _INSTALLED) or "site-packages" in real or "dist-packages" in real


_INSTALLED = tuple(
    os.path.join(os.path.realpath(p), "") for p in {os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__))}
)


class _MarkingLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, fullname: str, path: str, finder: MarkingFinder) -> None:
        super().__init__(fullname, path)
        self._finder = finder

    def get_code(self, fullname: str) -> CodeType:  # no cache: bytecode with marks must not be left beside the user's files
        file = self.get_filename(fullname)
        return self._finder.compile(self.get_data(file), file)


def install(finder: MarkingFinder) -> None:
    """Begin to mark: put the finder first."""
    if not hasattr(builtins, STEP_NAME):
        setattr(builtins, STEP_NAME, None)
    sys.meta_path.insert(0, finder)
