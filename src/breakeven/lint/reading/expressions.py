"""What expressions stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec.structs import replace

from breakeven.lint.reading import methods, modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.calls import Calls, find_member
from breakeven.lint.reading.facts import Timing
from breakeven.lint.reading.state import tags, tensors
from breakeven.lint.reading.values import (
    NOTHING, UNKNOWN, Box, Class, Clock, Const, Device, Duration, Function, Method, Number, Reading, Ref, Remainder, Scope,
    Sometimes, Tensor, Text, Thing, Value, graph, join,
)  # fmt: skip

_BUILTINS = {
    "print", "float", "int", "bool", "str", "repr", "format", "len", "range", "enumerate", "zip", "reversed", "sorted", "list", "tuple",
    "iter", "next", "max", "min", "sum", "abs", "round", "dict", "set", "super", "getattr", "isinstance", "any", "all", "map", "filter",
    "open", "type", "hasattr", "slice", "vars", "id", "pow", "divmod", "setattr", "object", "property", "staticmethod", "classmethod",
    "Exception", "RuntimeError", "ValueError", "callable", "exit", "input", "hash", "ord", "chr", "frozenset", "issubclass", "delattr",
}  # fmt: skip
_SOME_TIMES = 5  # a counter's remainder by fewer leaves often enough
_ORDERS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
_PASSING = {"reversed", "sorted", "list", "tuple", "iter", "set", "frozenset"}


class Expressions(Calls):
    """Evaluates expressions."""

    def evaluate(self, node: ast.expr) -> object:
        """What an expression stands for; notes what happens on the way."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr):
                    self.evaluate(child)
            return UNKNOWN
        return handler(self, node)

    def _constant(self, node: ast.Constant) -> object:
        value = node.value
        if type(value) is int:
            return Number(constant=value)
        return Const(value=value)

    def _name(self, node: ast.Name) -> object:
        found = self.scope.find(node.id)
        if found is not None:
            return found
        if node.id in _BUILTINS:
            return Ref(path=f"builtins.{node.id}")
        return Const(value="__main__") if node.id == "__name__" else UNKNOWN

    def _attribute(self, node: ast.Attribute) -> object:
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, owner: object, name: str) -> object:
        """An attribute of something."""
        if isinstance(owner, Ref):
            return Ref(path=f"{owner.path}.{name}")
        if isinstance(owner, Tensor):
            return methods.attribute(self, owner, name)
        if isinstance(owner, Thing):
            return self._thing_attribute(owner, name)
        if isinstance(owner, Device):
            return Const(value=owner.kind) if name == "type" and owner.kind else UNKNOWN
        if isinstance(owner, Class):
            found = find_member(owner, name)
            return found if found is not None else UNKNOWN
        return Method(name, owner)

    def _thing_attribute(self, thing: Thing, name: str) -> object:
        found = thing.attrs.get(name)
        if found is not None:
            return found
        member = find_member(thing.cls, name)
        if isinstance(member, Function):
            if any(getattr(d, "id", "") == "property" for d in getattr(member.node, "decorator_list", [])):
                return self.call_function(member, [thing], {}, member.node)
            return Method(name, thing, member)
        if member is not None:
            return member
        if thing.module and name in ("weight", "bias", "weight_ih", "weight_hh"):
            return Tensor(device=thing.device, parameter=True)
        if thing.module and name == "device":
            return modules.device_attribute(thing)
        if thing.kind == "torch.utils.data.DataLoader" and name == "dataset":
            return thing.arguments[0] if thing.arguments else UNKNOWN
        return Method(name, thing)

    def _call(self, node: ast.Call) -> object:
        callee = self.evaluate(node.func)
        arguments: list[object] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                value = self.evaluate(argument.value)
                arguments += value.items if isinstance(value, Box) and value.items is not None else [self.element(value)]
            else:
                arguments.append(self.evaluate(argument))
        options: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                options[keyword.arg] = value
            elif isinstance(value, Box) and value.keys:
                options |= {k: v for k, v in value.keys.items() if isinstance(k, str)}
        return self.call(callee, arguments, options, node)

    # Operators.

    def _binary(self, node: ast.BinOp) -> object:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        return self.binary(node.op, left, right, node)

    def binary(self, op: ast.operator, left: object, right: object, node: ast.AST) -> object:
        """`left op right`."""
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            if isinstance(op, ast.Mod) and isinstance(left, Const):
                ops.look(self, "print", node, right)  # "%f" % loss
                return Text()
            name = "matmul" if isinstance(op, ast.MatMult) else "and" if isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor) else "arith"
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
            return Box(left.kind, items, None, join(self._any(left), self._any(right)), left.loops, left.ids | right.ids)
        if isinstance(left, Box) and isinstance(op, ast.Mult):
            return Box(left.kind, None, None, self._any(left), left.loops, left.ids)
        if isinstance(left, Number) and left.varies or isinstance(right, Number) and right.varies:
            return Number(terms=((self.symbol(), 1),), tags=tags(left, right))
        return ops.unknown(left, right)

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
                end.line, getattr(node, "col_offset", 0) + 1, start.line, end.work - start.work, start.pending, end.pending, start.work == 0,
                start.loops, end.steps - start.steps, end.epochs - start.epochs,
            )
        )  # fmt: skip
        return Duration(event=len(self.facts.timings) - 1)

    def _unary(self, node: ast.UnaryOp) -> object:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(value, node)
        if isinstance(value, Tensor):
            return replace(ops.combine(self, "invert" if isinstance(node.op, ast.Invert) else "neg", node, [value]), scalar=value.scalar)
        if isinstance(value, Number) and isinstance(node.op, ast.USub):
            return Number(terms=tuple((s, -c) for s, c in value.terms), constant=-value.constant, tags=value.tags)
        return value

    def negated(self, value: object, node: ast.AST) -> object:
        """`not value`."""
        known = self.truth(value, node)
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
        if isinstance(left, Number) and left.varies or isinstance(right, Number) and right.varies:
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

    # Containers.

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> object:
        items: list[object] = []
        element: object = UNKNOWN
        for part in node.elts:
            if isinstance(part, ast.Starred):
                element = self.element(self.evaluate(part.value))
            else:
                items.append(self.evaluate(part))
        kind = "tuple" if isinstance(node, ast.Tuple) else "list"
        return Box(kind, items, None, element, len(self.loops), frozenset().union(*(graph(i) for i in items)))

    def _dict(self, node: ast.Dict) -> object:
        keys: dict[object, object] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item)
            name = key.value if isinstance(key, ast.Constant) else (self.evaluate(key), None)[1] if key is not None else None
            keys[name] = value
        return Box("dict", None, keys, UNKNOWN, len(self.loops), frozenset().union(*(graph(v) for v in keys.values())))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> object:
        before = self.scope
        self.scope = Scope({}, before)
        try:
            return self._generated(node, list(node.generators))
        finally:
            self.scope = before

    def _generated(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, generators: list[ast.comprehension]) -> object:
        first = generators[0]
        source = self.evaluate(first.iter)
        outside = len(self.loops)
        with self.looping(node):
            self.bind(first.target, self.element(source))
            for condition in first.ifs:
                self.truth(self.evaluate(condition), condition)
            if len(generators) > 1:
                return self._generated(node, generators[1:])
            value = self.evaluate(node.value if isinstance(node, ast.DictComp) else node.elt)
            box = Box("dict" if isinstance(node, ast.DictComp) else "list", None, None, UNKNOWN, outside)
            self.put(box, value, node)
        return box

    def bind(self, target: ast.expr, value: object) -> None:
        """Assigns to a name, a tuple, an attribute or an element."""
        raise NotImplementedError

    def _subscript(self, node: ast.Subscript) -> object:
        owner, index = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(owner, Tensor):
            return methods.taken(self, owner, index, node)
        if isinstance(owner, Box):
            return self._item(owner, index)
        if isinstance(owner, Thing) and owner.kind.removeprefix(modules.NN) in ("ModuleList", "Sequential", "ModuleDict"):
            inside = modules.parts(owner)
            place = ops.index_of(index)
            return inside[place] if place is not None and -len(inside) <= place < len(inside) else inside[0] if inside else UNKNOWN
        if isinstance(owner, Ref):
            return UNKNOWN
        return ops.unknown(owner)

    def _item(self, box: Box, index: object) -> object:
        place = ops.index_of(index)
        if box.items is not None and place is not None and -len(box.items) <= place < len(box.items):
            return box.items[place]
        if box.keys is not None and isinstance(index, Const) and index.value in box.keys:
            return box.keys[index.value]
        if isinstance(index, Box) and index.kind == "slice":
            return Box(box.kind, None, None, self._any(box), box.loops, box.ids)
        found = self._any(box)
        return Number(terms=((self.symbol(), 1),)) if isinstance(index, Remainder | Number) and isinstance(found, Number) else found

    def _slice(self, node: ast.Slice) -> object:
        """A slice as its length and the loops behind its ends."""
        lower = self.evaluate(node.lower) if node.lower else Number()
        upper = self.evaluate(node.upper) if node.upper else UNKNOWN
        if node.step:
            self.evaluate(node.step)
        length: object = UNKNOWN
        if isinstance(lower, Number) and isinstance(upper, Number):
            length = self._number(ast.Sub(), upper, lower)
        symbols = {s for n in (lower, upper) if isinstance(n, Number) for s, _ in n.terms if s > 0}
        return Box("slice", [length, Value(NOTHING, tags(lower, upper) | frozenset(symbols))])

    # Texts and the rest.

    def _joined_text(self, node: ast.JoinedStr) -> object:
        found: list[object] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.evaluate(part.value)
                if isinstance(value, Duration):
                    self.facts.timings[value.event].shown = True
                elif tensors(value):
                    ops.look(self, "print", part.value, value)
                found.append(value)
        return Text(tags=tags(*found))

    def _lambda(self, node: ast.Lambda) -> object:
        return Function(node, self.scope)

    def _walrus(self, node: ast.NamedExpr) -> object:
        value = self.evaluate(node.value)
        self.bind(node.target, value)
        return value

    def _await(self, node: ast.Await | ast.YieldFrom | ast.Starred) -> object:
        return self.evaluate(node.value)

    def _yield(self, node: ast.Yield) -> object:
        value = self.evaluate(node.value) if node.value else UNKNOWN
        if self.frames:
            self.frames[-1].returned.append(Box("list", None, element=value))
        return UNKNOWN

    # Functions that are always there.

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
            keys: dict[object, object] = dict(options)
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
        super().__init__(itself.kind, base, itself.attrs, itself.arguments, itself.options, itself.device, itself.module, itself.line)


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


# Any: each handler takes the node class that it is registered for, which the key says and a type cannot.
_Handler = Callable[..., object]
_EXPRESSIONS: dict[type[ast.AST], _Handler] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._choice,
    ast.List: Expressions._list,
    ast.Tuple: Expressions._list,
    ast.Set: Expressions._list,
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.JoinedStr: Expressions._joined_text,
    ast.Lambda: Expressions._lambda,
    ast.NamedExpr: Expressions._walrus,
    ast.Await: Expressions._await,
    ast.YieldFrom: Expressions._await,
    ast.Starred: Expressions._await,
    ast.Yield: Expressions._yield,
}
