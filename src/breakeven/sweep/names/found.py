"""What a parameter's name was found to be: an option of the command line, or expressions of the source."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Final

Value = int | float | bool | str


class Kind:
    """Kinds of places that hold a parameter, and the words for them."""

    OPTION: Final = "option"
    KEY: Final = "key"
    CONSTANT: Final = "constant"
    FIELD: Final = "field"
    DEFAULT: Final = "default"
    ARGUMENT: Final = "argument"
    LAYER: Final = "layer"


#: For the list of what a name could mean.
WORDS: Final = {
    Kind.OPTION: "an option of the command line",
    Kind.KEY: "a key of the configuration",
    Kind.CONSTANT: "a constant",
    Kind.FIELD: "a field of a dataclass",
    Kind.DEFAULT: "a parameter's default",
    Kind.ARGUMENT: "an argument of a call",
    Kind.LAYER: "a layer's size",
}


@dataclass(frozen=True)
class Span:
    """Where an expression stands, as Python's syntax tree has it."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def of(cls, file: str, node: ast.expr) -> Span:
        """The span of a node."""
        return cls(file, node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


@dataclass(frozen=True)
class Found:
    """One place that a name may mean.

    Attributes:
        kind: one of `Kind`.
        name: as the source spells it (`--hidden-size`, `HIDDEN`, `model.width`).
        file: where it is.
        line: on which line.
        spans: expressions that the value is put in the place of; empty for options and keys.
        today: the value that stands there, where it is written out; None: not known.
        refers: the constant that the value is taken from, where the expression is a bare name.
        owner: what it belongs to: a function, a class, the call's name.
    """

    kind: str
    name: str
    file: str
    line: int
    spans: tuple[Span, ...] = ()
    today: Value | None = None
    refers: str | None = None
    owner: str = ""

    @property
    def words(self) -> str:
        """For people: what and where."""
        of = f" of {self.owner}" if self.owner else ""
        return f"{self.name} ({WORDS[self.kind]}{of}, line {self.line})"


def literal(node: ast.expr | None) -> Value | None:
    """The value of an expression that is written out; None: it is not.

    >>> literal(ast.parse("2 ** 5", mode="eval").body), literal(ast.parse("-3", mode="eval").body)
    (32, -3)
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return -inner if isinstance(inner, (int, float)) else None
    if isinstance(node, ast.BinOp):
        return _arithmetic(node.op, literal(node.left), literal(node.right))
    return None


def _arithmetic(op: ast.operator, a: Value | None, b: Value | None) -> Value | None:
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)):
        return None
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.FloorDiv) and b:
        return a // b
    if isinstance(op, ast.Pow) and 0 <= b <= 64 and abs(a) <= 64:
        power: int | float = a**b
        return power
    return None


def plain(name: str) -> str:
    """A name without what spelling adds: case, dashes, underscores.

    >>> plain("--hidden-size"), plain("HIDDEN_SIZE"), plain("batchSize")
    ('hiddensize', 'hiddensize', 'batchsize')
    """
    return name.lstrip("-").replace("-", "").replace("_", "").lower()


def referred(node: ast.expr | None) -> str | None:
    """The bare name that an expression is; None: it is more than that."""
    return node.id if isinstance(node, ast.Name) else None


def called(node: ast.Call) -> str:
    """The last part of what is called: `DataLoader` of `torch.utils.data.DataLoader(…)`."""
    func = node.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
