"""Operators: arithmetic of tensors and whole numbers, comparisons, conditions, differences of clock readings."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.calls import Calls
from breakeven.lint.reading.facts import Timing
from breakeven.lint.reading.state import tags
from breakeven.lint.reading.values import (
    UNKNOWN,
    Box,
    Class,
    Clock,
    Const,
    Device,
    Duration,
    Function,
    Number,
    Reading,
    Remainder,
    Sometimes,
    Tensor,
    Text,
    Thing,
    join,
)

_SOME_TIMES = 5  # a counter's remainder by fewer leaves often enough
_ORDERS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)


class Operators(Calls):
    """Evaluates operators."""

    def _binary(self, node: ast.BinOp) -> object:
        chain = [node]  # `a + b + c + …` leans to the left, as deep as it is long
        while isinstance(chain[-1].left, ast.BinOp):
            chain.append(chain[-1].left)
        value = self.evaluate(chain[-1].left)
        for part in reversed(chain):
            value = self.binary(part.op, value, self.evaluate(part.right), part)
        return value

    def binary(self, op: ast.operator, left: object, right: object, node: ast.AST) -> object:
        """`left op right`."""
        if not isinstance(op, ast.Mod):
            left, right = self._drawn(left), self._drawn(right)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if isinstance(op, ast.Mod) and isinstance(left, Const):
                ops.look(self, "print", node, right)  # "%f" % loss
                return Text()
            name = (
                "matmul"
                if isinstance(op, ast.MatMult)
                else "and"
                if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
                else "arith"
            )
            return ops.combine(self, name, node, [left, right])
        if isinstance(left, Number) and isinstance(right, Number):
            return self._number(op, left, right)
        if isinstance(op, ast.Mod):
            small = isinstance(right, Number) and not right.terms and right.constant < _SOME_TIMES
            steady = isinstance(left, Const) or small
            return UNKNOWN if steady else Remainder(tags=tags(left)) if not isinstance(left, Text) else Text()
        if isinstance(left, Clock) and isinstance(right, Clock) and isinstance(op, ast.Sub):
            return self._timing(left, right, node)
        for duration in (left, right):
            if isinstance(duration, Duration):
                timing = self.facts.timings[duration.event]
                timing.rate = timing.rate or isinstance(op, ast.Div | ast.FloorDiv | ast.Mult)
                return duration
        if isinstance(left, Reading) or isinstance(right, Reading):
            return Reading(tags=tags(left, right))
        if isinstance(left, Box) and isinstance(right, Box) and left.kind == right.kind and isinstance(op, ast.Add):
            items = [*left.items, *right.items] if left.items is not None and right.items is not None else None
            return Box(left.kind, items, None, join(self.any_of(left), self.any_of(right)), left.loops, left.ids | right.ids)
        if isinstance(left, Box) and isinstance(op, ast.Mult):
            return Box(left.kind, None, None, self.any_of(left), left.loops, left.ids)
        if (isinstance(left, Number) and left.varies) or (isinstance(right, Number) and right.varies):
            return Number(terms=((self.symbol(), 1),), tags=tags(left, right))
        return ops.unknown(left, right)

    def _drawn(self, value: object) -> object:
        """A remainder that is calculated with is a number that varies."""
        return Number(terms=((self.symbol(), 1),), tags=value.tags) if isinstance(value, Remainder) else value

    def _number(self, op: ast.operator, left: Number, right: Number) -> object:
        """Whole numbers: sums and multiples stay sums of symbols."""
        if isinstance(op, ast.Add | ast.Sub):
            sign = 1 if isinstance(op, ast.Add) else -1
            terms = dict(left.terms)
            for symbol, count in right.terms:
                terms[symbol] = terms.get(symbol, 0) + sign * count
            kept = tuple(sorted((s, c) for s, c in terms.items() if c))
            return Number(terms=kept, constant=left.constant + sign * right.constant, tags=left.tags | right.tags)
        if isinstance(op, ast.Mult) and (not left.terms or not right.terms):
            symbols, factor = (right, left.constant) if not left.terms else (left, right.constant)
            terms_ = tuple((s, c * factor) for s, c in symbols.terms if c * factor)
            return Number(terms=terms_, constant=symbols.constant * factor, tags=left.tags | right.tags)
        if isinstance(op, ast.Mod) and left.varies:
            often = not right.terms and right.constant < _SOME_TIMES
            number = Number(terms=((self.symbol(), 1),), tags=left.tags)
            return number if often else Remainder(tags=left.tags)
        if not left.terms and not right.terms and right.constant:
            if isinstance(op, ast.FloorDiv):
                return Number(constant=left.constant // right.constant)
            if isinstance(op, ast.Mod):
                return Number(constant=left.constant % right.constant)
        if left.varies or right.varies:
            return Number(terms=((self.symbol(), 1),), tags=left.tags | right.tags)
        return UNKNOWN

    def _timing(self, end: Clock, start: Clock, node: ast.AST) -> Duration:
        """Two readings of a clock: what the device did in between."""
        self.facts.timings.append(
            Timing(
                end.line,
                getattr(node, "col_offset", 0) + 1,
                start.line,
                end.work - start.work,
                start.pending,
                end.pending,
                start.work == 0,
                start.loops,
                end.steps - start.steps,
                end.epochs - start.epochs,
            )
        )
        return Duration(event=len(self.facts.timings) - 1)

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(value, node)
        if isinstance(value, Tensor):
            return replace(
                ops.combine(self, "invert" if isinstance(node.op, ast.Invert) else "neg", node, [value]), scalar=value.scalar
            )
        if isinstance(value, Number) and isinstance(node.op, ast.USub):
            return Number(terms=tuple((s, -c) for s, c in value.terms), constant=-value.constant, tags=value.tags)
        return value

    def negated(self, value: object, node: ast.AST) -> object:
        """`not value`."""
        known = self.truth(value, node)
        if isinstance(value, Remainder):
            return Sometimes(rare=True)
        if isinstance(value, Sometimes):
            return Sometimes(rare=not value.rare)
        return UNKNOWN if known is None else Const(value=not known)

    def truth(self, value: object, node: ast.AST) -> bool | None:
        """Whether a condition holds, where that is known; reads a tensor."""
        if isinstance(value, Tensor):
            ops.read(self, "truth", node, value)
            return None
        if isinstance(value, Const):
            return bool(value.value)
        if isinstance(value, Number) and not value.terms:
            return bool(value.constant)
        if isinstance(value, Function | Class | Thing):
            return True
        return None

    def _boolean(self, node: ast.BoolOp) -> object:
        result: object = UNKNOWN
        seldom: Sometimes | None = None
        known: list[bool | None] = []
        is_and = isinstance(node.op, ast.And)
        for part in node.values:
            result = self.evaluate(part)
            held = self.truth(result, part)
            known.append(held)
            if isinstance(result, Remainder):
                result = Sometimes(rare=False)
            if isinstance(result, Sometimes) and (seldom is None or result.rare == is_and):
                seldom = result
            if held is not None and held != is_and:
                return result
        return seldom or (result if None not in known else UNKNOWN)

    def _compare(self, node: ast.Compare) -> object:
        left = self.evaluate(node.left)
        others = [self.evaluate(c) for c in node.comparators]
        op, right = node.ops[0], others[0]
        for value in (left, *others):
            if isinstance(value, Duration):
                self.facts.timings[value.event].compared = True
        if isinstance(op, ast.Is | ast.IsNot):
            return self._identity(left, right, isinstance(op, ast.IsNot))
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if isinstance(op, ast.In | ast.NotIn):
                return UNKNOWN
            return ops.combine(self, "eq", node, [left, right])
        if isinstance(left, Remainder) or isinstance(right, Remainder):
            return Sometimes(rare=isinstance(op, ast.Eq))
        if isinstance(left, Reading) or isinstance(right, Reading):
            return Sometimes(rare=True) if isinstance(op, _ORDERS) else UNKNOWN
        return self._compared(op, left, right)

    def _compared(self, op: ast.cmpop, left: object, right: object) -> object:
        """Comparisons of numbers, texts and devices."""
        if (isinstance(left, Number) and left.varies) or (isinstance(right, Number) and right.varies):
            if isinstance(op, ast.Eq | ast.In):
                return Sometimes(rare=True)
            if isinstance(op, ast.Lt | ast.LtE) and isinstance(left, Number) and isinstance(right, Number) and not right.terms:
                return Sometimes(rare=True)
            return Sometimes(rare=False) if isinstance(op, ast.NotEq) else UNKNOWN
        a, b = known_value(left), known_value(right)
        if a is not _UNSET and b is not _UNSET and isinstance(op, ast.Eq | ast.NotEq):
            return Const(value=(a == b) == isinstance(op, ast.Eq))
        return UNKNOWN

    def _identity(self, left: object, right: object, negative: bool) -> object:
        """`is` and `is not`, which are about None nearly always."""
        if not (isinstance(right, Const) and right.value is None):
            return UNKNOWN
        if isinstance(left, Const):
            return Const(value=(left.value is None) != negative)
        if isinstance(left, Tensor | Thing | Box | Function | Class | Number):
            return Const(value=negative)
        return UNKNOWN

    def _choice(self, node: ast.IfExp) -> object:
        known = self.truth(self.evaluate(node.test), node.test)
        if known is not None:
            return self.evaluate(node.body if known else node.orelse)
        return join(self.evaluate(node.body), self.evaluate(node.orelse))


_UNSET = object()


def known_value(value: object) -> object:
    """The Python value behind a constant; `_UNSET` where it is not known."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Number) and not value.terms:
        return value.constant
    if isinstance(value, Device) and value.kind:
        return value.kind
    return _UNSET
