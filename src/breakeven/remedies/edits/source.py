"""A parsed script: where its nodes are, what its names mean, and how a set of changes becomes new text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst import metadata

from breakeven.errors import InputError
from breakeven.remedies.edits.answers import Edited, Refused

Kind = TypeVar("Kind", bound=cst.CSTNode)
New = cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.CSTNode]
#: From a node, with the changes beneath it made, to what stands in its place.
Change = Callable[[cst.CSTNode], New]
Block = cst.IndentedBlock | cst.Module
Loop = cst.For | cst.While


@dataclass(frozen=True)
class Source:
    """One file, parsed once.

    Attributes:
        path: its name, for messages.
        text: its text.
        module: its tree.
        spans: the position of each node.
        parents: the node above each node.
        scopes: the scope that each node is evaluated in.
    """

    path: str
    text: str
    module: cst.Module
    spans: Mapping[cst.CSTNode, metadata.CodeRange]
    parents: Mapping[cst.CSTNode, cst.CSTNode]
    scopes: Mapping[cst.CSTNode, metadata.Scope | None]

    @classmethod
    def read(cls, path: str, text: str) -> Source:
        """Parse a text.

        Raises:
            InputError: it is not Python.
        """
        try:
            wrapper = metadata.MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=False)
        except cst.ParserSyntaxError as error:
            raise InputError(f"{path}:{error.raw_line}: not Python: {error.message}") from error
        spans = wrapper.resolve(metadata.PositionProvider)
        parents = wrapper.resolve(metadata.ParentNodeProvider)
        return cls(path, text, wrapper.module, spans, parents, wrapper.resolve(metadata.ScopeProvider))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The node's first and last line, from 1."""
        place = self.spans[node]
        return place.start.line, place.end.line

    def line(self, node: cst.CSTNode) -> int:
        """The node's first line, from 1."""
        return self.spans[node].start.line

    def find(self, kind: type[Kind], within: cst.CSTNode | None = None) -> Iterator[Kind]:
        """All nodes of a kind, in the order of the text."""
        stack: list[cst.CSTNode] = [self.module if within is None else within]
        while stack:
            node = stack.pop()
            if isinstance(node, kind):
                yield node
            stack.extend(reversed(node.children))

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes above a node, the nearest first."""
        while (parent := self.parents.get(node)) is not None:
            yield parent
            node = parent

    def nearest(self, node: cst.CSTNode, *kinds: type[Kind]) -> Kind | None:
        """The nearest node above that is of one of these kinds."""
        return next((one for one in self.above(node) if isinstance(one, kinds)), None)

    def holds(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """Whether a node is another one or lies within it."""
        return inner is outer or any(one is outer for one in self.above(inner))

    def meaning(self, node: cst.CSTNode) -> str | None:
        """The dotted name that an expression stands for, as imported (`torch.nn.Linear`), or a builtin's name.

        None where it is no imported name or may be several things.
        """
        scope = self.scopes.get(node)
        if scope is None or not isinstance(node, cst.Name | cst.Attribute):
            return None
        names = scope.get_qualified_names_for(node)
        if len(names) != 1:
            return None
        name = next(iter(names))
        kinds = (metadata.QualifiedNameSource.IMPORT, metadata.QualifiedNameSource.BUILTIN)
        return name.name.removeprefix("builtins.") if name.source in kinds else None

    def calls(self, *names: str, within: cst.CSTNode | None = None) -> list[cst.Call]:
        """The calls of functions or classes by their dotted names."""
        return [call for call in self.find(cst.Call, within) if self.meaning(call.func) in names]

    def methods(self, *names: str, within: cst.CSTNode | None = None) -> list[cst.Call]:
        """The calls of the form `anything.NAME(...)`."""
        return [c for c in self.find(cst.Call, within) if isinstance(c.func, cst.Attribute) and c.func.attr.value in names]

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | cst.BaseCompoundStatement:
        """The statement that a node lies in (its own line, or the compound statement whose head it is in)."""
        for one in (node, *self.above(node)):
            if isinstance(one, cst.SimpleStatementLine | cst.BaseCompoundStatement):
                return one
        raise AssertionError("a node of a module lies in a statement")

    def block(self, statement: cst.CSTNode) -> Block | None:
        """The block of lines that a statement is directly in; None in a one-line suite."""
        parent = self.parents.get(statement)
        return parent if isinstance(parent, cst.IndentedBlock | cst.Module) else None

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | None:
        """The function that a node runs in; None at the top of the module."""
        for one in self.above(node):
            if isinstance(one, cst.FunctionDef | cst.Lambda):
                return one
        return None

    def loops(self, node: cst.CSTNode) -> list[Loop]:
        """The loops around a node within its function, the innermost first: those whose body holds it."""
        found: list[Loop] = []
        inner = node
        for one in self.above(node):
            if isinstance(one, cst.FunctionDef | cst.Lambda | cst.ClassDef):
                break
            if isinstance(one, cst.For | cst.While) and inner is one.body:
                found.append(one)
            inner = one
        return found

    def code(self, node: cst.CSTNode) -> str:
        """A node's text."""
        return self.module.code_for_node(node)

    def same(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two nodes read the same, blanks and comments aside."""
        return "".join(self.code(one).split()) == "".join(self.code(other).split())

    def changed(self, changes: Mapping[cst.CSTNode, Change], note: str = "", at: Sequence[cst.CSTNode] = ()) -> Edited | Refused:
        """The text with these changes made; `at` are further nodes whose lines count as changed."""
        if not changes:
            return Refused("nothing here needs it")
        module = self.module.visit(_Changing(changes))
        assert isinstance(module, cst.Module)
        lines = {self.line(node) for node in (*changes, *at) if node in self.spans and not isinstance(node, cst.Module)}

        return Edited(module.code, tuple(sorted(lines)), note)


def with_changes(node: Kind, changes: Mapping[cst.CSTNode, Change]) -> Kind:
    """A node with changes made beneath it."""
    new = node.visit(_Changing(changes))
    assert isinstance(new, type(node))
    return new


class _Changing(cst.CSTTransformer):
    """Puts the changes in, from the leaves up."""

    def __init__(self, changes: Mapping[cst.CSTNode, Change]) -> None:
        super().__init__()
        self._changes = changes

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> New:  # type: ignore[override]  # wider on purpose
        change = self._changes.get(original_node)
        return updated_node if change is None else change(updated_node)
