"""Batches become four times as large."""

from __future__ import annotations

import libcst as cst

from breakeven.remedies.edits.answers import Edited, Refused, Sites
from breakeven.remedies.edits.loaders import loaders
from breakeven.remedies.edits.records import Edit
from breakeven.remedies.edits.rewriting import argument
from breakeven.remedies.edits.source import Change, New, Source
from breakeven.remedies.edits.variables import bound, variable

_FACTOR = 4
_MARK = "# batch x"
_NAMES = ("batch", "batch_size", "BATCH", "BATCH_SIZE", "bs", "BS", "batchsize")


def apply(source: Source, sites: Sites) -> Edited | Refused:
    """Multiply the number that the batch size is written as, at the one place where it stands, and note so beside it."""
    places: dict[cst.CSTNode, cst.Integer] = {}
    for loader in loaders(source, Sites(None)):
        size = argument(loader, "batch_size", 1)
        literal = _literal(source, size.value) if size is not None else None
        if literal is not None:
            places[literal] = literal
    if not places:
        for name in source.find(cst.Name):
            if name.value in _NAMES and isinstance(source.parents[name], cst.AssignTarget):
                literal = _literal(source, name)
                if literal is not None:
                    places[literal] = literal
    if not places:
        return Refused("no batch size is written as a number here")
    changes: dict[cst.CSTNode, Change] = {}
    for literal in places.values():
        line = source.statement(literal)
        if _MARK in source.code(line):
            return Refused("the batch was enlarged before")
        if not isinstance(line, cst.SimpleStatementLine):
            continue
        changes[literal] = _times(_FACTOR)
        changes[line] = _noted
    note = (
        f"{_FACTOR} times as many samples per update, a {_FACTOR}th of the updates per epoch. Raise the learning rate with it: "
        f"up to {_FACTOR} times for SGD, twice for Adam (the square root); compare the validation loss at equal time."
    )
    return source.changed(changes, note) if changes else Refused("the batch size does not stand on a line of its own")


def _literal(source: Source, node: cst.BaseExpression) -> cst.Integer | None:
    """The whole number that an expression is: itself, or what its name is bound to once."""
    if isinstance(node, cst.Integer):
        return node
    if isinstance(node, cst.Name):
        found = variable(source, node)
        if found is not None and len(found.stores) == 1:
            value = bound(source, found.stores[0])
            return value if isinstance(value, cst.Integer) else None
    return None


def _times(factor: int) -> Change:
    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Integer)
        return node.with_changes(value=str(factor * node.evaluated_value))

    return change


def _noted(node: cst.CSTNode) -> New:
    """Leave a mark beside the line, so that a second run does not enlarge it again."""
    assert isinstance(node, cst.SimpleStatementLine)
    end = node.trailing_whitespace
    said = f"{_MARK}{_FACTOR}" + (f"; {end.comment.value.lstrip('# ')}" if end.comment is not None else "")
    gap = end.whitespace if end.comment is not None else cst.SimpleWhitespace("  ")
    return node.with_changes(trailing_whitespace=end.with_changes(whitespace=gap, comment=cst.Comment(said)))


EDIT = Edit(
    id="larger_batch",
    promise="changes_mathematics",
    tolerance=None,
    apply=apply,
    safe_when="The batch size is a number written at one place: in a loader, or bound to a name such as `batch_size`.",
    unsafe_when="Fewer updates per epoch learn less unless the learning rate goes up; other numbers may be tied to the batch.",
    changes="Another training: judge it by the loss at equal time.",
)
