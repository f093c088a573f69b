"""Small changes that many edits are made of: an argument of a call, a statement before or after another, a statement gone."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from breakeven.remedies.edits.source import Change, New, Source


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """The argument of this keyword, or at this position where no keyword is given."""
    for index, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None and arg.keyword.value == name:
            return arg
        if arg.keyword is None and position == index:
            return arg
    return None


def has_stars(call: cst.Call) -> bool:
    """Whether arguments come out of a tuple or a dict, so that nobody can read them here."""
    return any(arg.star for arg in call.args)


def with_argument(name: str, value: str) -> Change:
    """Set a keyword argument of a call, at its place or at the end."""

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Call)
        expression = cst.parse_expression(value)
        for index, arg in enumerate(node.args):
            if arg.keyword is not None and arg.keyword.value == name:
                return node.with_changes(args=[*node.args[:index], arg.with_changes(value=expression), *node.args[index + 1 :]])
        return node.with_changes(args=_appended(node.args, cst.Arg(expression, cst.Name(name), equal=_TIGHT)))

    return change


def without_argument(name: str, position: int | None = None) -> Change:
    """Drop an argument of a call."""

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.Call)
        gone = argument(node, name, position)
        kept = [arg for arg in node.args if arg is not gone]
        if gone is not None and kept and gone is node.args[-1]:
            kept[-1] = kept[-1].with_changes(comma=gone.comma, whitespace_after_arg=gone.whitespace_after_arg)
        return node.with_changes(args=kept)

    return change


def replaced(new: cst.CSTNode) -> Change:
    """Put another node in."""
    return lambda _: new


def expression(code: str) -> Change:
    """Put an expression in, given as text."""
    return replaced(cst.parse_expression(code))


def moved(device: str) -> Change:
    """Move what an expression gives: `EXPRESSION.to(device)`."""

    def change(node: cst.CSTNode) -> New:
        assert isinstance(node, cst.BaseExpression)
        return cst.Call(cst.Attribute(node, cst.Name("to")), [cst.Arg(cst.parse_expression(device))])

    return change


def both(*changes: Change) -> Change:
    """One change after the other, on the same node."""

    def change(node: cst.CSTNode) -> New:
        for one in changes:
            new = one(node)
            assert isinstance(new, cst.CSTNode)
            node = new
        return node

    return change


def statements(source: Source, code: str) -> list[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
    """Parse lines of code, in the file's own indentation."""
    parsed = cst.parse_module(code, config=source.module.config_for_parsing)
    first, *rest = parsed.body
    return [first.with_changes(leading_lines=[*parsed.header, *first.leading_lines]), *rest]


def after(source: Source, code: str) -> Change:
    """Put lines after a statement."""
    lines = statements(source, code)
    return lambda node: cst.FlattenSentinel([node, *lines])


def before(source: Source, code: str) -> Change:
    """Put lines before a statement, under its leading comments and blank lines."""
    lines = statements(source, code)

    def change(node: cst.CSTNode) -> New:
        leading = (
            node.leading_lines if isinstance(node, cst.SimpleStatementLine | cst.For | cst.While | cst.With | cst.If) else ()
        )
        first = lines[0].with_changes(leading_lines=[*leading, *lines[0].leading_lines])
        rest = node.with_changes(leading_lines=()) if leading else node
        return cst.FlattenSentinel([first, *lines[1:], rest])

    return change


def gone(source: Source, statement: cst.CSTNode) -> dict[cst.CSTNode, Change]:
    """The changes that take a statement out: an emptied block goes with its `if` where the test does nothing else."""
    block = source.block(statement)
    if block is None or len(block.body) > 1 or isinstance(block, cst.Module):
        return {statement: lambda _: cst.RemoveFromParent()}
    holder = source.parents[block]
    if isinstance(holder, cst.If) and holder.orelse is None and is_quiet(holder.test) and source.block(holder) is not None:
        return gone(source, holder)
    return {statement: replaced(statements(source, "pass")[0])}


def is_quiet(node: cst.CSTNode) -> bool:
    """Whether evaluating an expression does nothing but read: no call, no await, no walrus."""
    if isinstance(node, cst.Call | cst.Await | cst.NamedExpr | cst.Yield):
        return False
    return all(is_quiet(child) for child in node.children)


def _appended(args: Sequence[cst.Arg], new: cst.Arg) -> list[cst.Arg]:
    """Add an argument at the end, laid out as the others are: one a line, or side by side."""
    if not args:
        return [new]
    last = args[-1]
    between = args[-2].comma if len(args) > 1 and isinstance(args[-2].comma, cst.Comma) else _COMMA
    if isinstance(last.comma, cst.Comma):  # a trailing comma: one argument a line
        return [*args[:-1], last.with_changes(comma=between), new.with_changes(comma=last.comma)]
    return [*args[:-1], last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace("")),
            new.with_changes(whitespace_after_arg=last.whitespace_after_arg)]  # fmt: skip


_COMMA = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
