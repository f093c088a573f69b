"""Functions that are always there: `print`, `float`, `range`, `max` and their like."""

from __future__ import annotations

import ast

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.operators import Operators
from breakeven.lint.reading.state import tags, tensors
from breakeven.lint.reading.values import (
    UNKNOWN,
    Box,
    Class,
    Clock,
    Const,
    Duration,
    Number,
    Reading,
    Tensor,
    Text,
    Thing,
    Value,
)  # fmt: skip

_PASSING = {"reversed", "sorted", "list", "tuple", "iter", "set", "frozenset"}


class Always(Operators):
    """Calls of functions that are always there."""

    def builtin(self, name: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """A function that is always there."""
        first = arguments[0] if arguments else UNKNOWN
        if name == "print":
            for value in arguments:
                if isinstance(value, Duration):
                    self.facts.timings[value.event].shown = True
            ops.look(self, "print", node, *arguments)
            return Const(value=None)
        if name in ("float", "int", "bool"):
            return self._cast(name, first, node)
        if name in ("str", "repr", "format"):
            ops.look(self, "print", node, first)
            return Text()
        if name in ("range", "enumerate", "zip", "map", "next") or name in _PASSING:
            return self._iterator(name, arguments, node)
        if name in ("max", "min", "any", "all", "sum"):
            return self._folded(name, arguments, options, node)
        if name == "round":
            return first
        if name == "len":
            return Number(terms=((self.constant(), 1),))
        if name == "dict":
            keys: dict[object, object] = dict(options.items())
            return Box("dict", None, keys, UNKNOWN, len(self.loops))
        if name == "super":
            return self._parent()
        if name == "getattr" and len(arguments) > 1 and isinstance(arguments[1], Const) and isinstance(arguments[1].value, str):
            return self.attribute(first, arguments[1].value)
        if name in ("abs", "pow", "divmod"):
            return ops.combine(self, name, node, arguments) if tensors(*arguments) else first
        return ops.unknown(*arguments)

    def _cast(self, name: str, value: object, node: ast.AST) -> object:
        if isinstance(value, Tensor):
            result = ops.read(self, "truth" if name == "bool" else "item", node, value, name)
            return Number(terms=((self.symbol(), 1),), tags=result.tags) if name == "int" and value.factory else result
        if isinstance(value, Duration | Clock | Number | Reading):
            return value
        if isinstance(value, Const) and isinstance(value.value, float) and name == "int":
            return Number(constant=int(value.value))
        if isinstance(value, Value) and value.tags:
            return Number(terms=((self.symbol(), 1),), tags=value.tags) if name == "int" else value
        return UNKNOWN

    def _iterator(self, name: str, arguments: list[object], node: ast.expr) -> object:
        first = arguments[0] if arguments else UNKNOWN
        if name == "range":
            for value in arguments:
                if isinstance(value, Tensor):
                    ops.read(self, "item", node, value, name)
            return Box("range", list(arguments))
        if name == "enumerate":
            return Box("list", None, element=Box("tuple", [Number(terms=((self.symbol(), 1),)), self.element(first)]))
        if name == "zip":
            return Box("list", None, element=Box("tuple", [self.element(a) for a in arguments]))
        if name == "map":
            return Box("list", None, element=self.call(first, [self.element(a) for a in arguments[1:]], {}, node))
        if name == "next":
            return self.element(first)
        if isinstance(first, Tensor):
            return Box("list", None, element=self.element(first), loops=len(self.loops))
        if isinstance(first, Box) and name in ("list", "tuple"):
            return Box(name, first.items, first.keys, first.element, len(self.loops), first.ids)
        return first if arguments else Box("list", [], loops=len(self.loops))

    def _folded(self, name: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """`max`, `min`, `sum` and their like over tensors."""
        found = tensors(*arguments)
        if name == "sum":
            return ops.combine(self, "arith", node, arguments) if found else ops.unknown(*arguments)
        if found and (len(arguments) > 1 or isinstance(arguments[0], Box | Tensor)) and "key" not in options:
            ops.read(self, "truth", node, found[0], name)
            return found[0] if name in ("max", "min") else UNKNOWN
        numbers = [a for a in arguments if isinstance(a, Number)]
        if any(n.varies for n in numbers):
            return Number(terms=((self.symbol(), 1),), tags=tags(*numbers))
        readings = [a for a in arguments if isinstance(a, Reading)]
        return readings[0] if readings else UNKNOWN

    def _parent(self) -> object:
        """`super()`: the instance, seen as one of its base class."""
        frame = next((f for f in reversed(self.frames) if f.function is not None and f.function.owner is not None), None)
        if frame is None or frame.function is None or frame.function.owner is None:
            return UNKNOWN
        owner = frame.function.owner
        itself = next(iter(frame.scope.names.values()), UNKNOWN)
        base = next((b for b in owner.bases if isinstance(b, Class)), None)
        if base is None or not isinstance(itself, Thing):
            return Thing("super")
        return _Super(itself, base)


class _Super(Thing):
    """An instance as `super()` shows it."""

    def __init__(self, itself: Thing, base: Class) -> None:
        super().__init__(
            itself.kind, base, itself.attrs, itself.arguments, itself.options, itself.device, itself.module, itself.line
        )
