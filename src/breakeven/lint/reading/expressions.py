"""What expressions stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable

from breakeven.lint.reading import methods, modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.always import Always
from breakeven.lint.reading.containers import find_member
from breakeven.lint.reading.state import tags, tensors
from breakeven.lint.reading.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Class,
    Const,
    Device,
    Duration,
    Function,
    Method,
    Number,
    Ref,
    Remainder,
    Scope,
    Tensor,
    Text,
    Thing,
    Value,
    graph,
)

_BUILTINS = {
    "print",
    "float",
    "int",
    "bool",
    "str",
    "repr",
    "format",
    "len",
    "range",
    "enumerate",
    "zip",
    "reversed",
    "sorted",
    "list",
    "tuple",
    "iter",
    "next",
    "max",
    "min",
    "sum",
    "abs",
    "round",
    "dict",
    "set",
    "super",
    "getattr",
    "isinstance",
    "any",
    "all",
    "map",
    "filter",
    "open",
    "type",
    "hasattr",
    "slice",
    "vars",
    "id",
    "pow",
    "divmod",
    "setattr",
    "object",
    "property",
    "staticmethod",
    "classmethod",
    "Exception",
    "RuntimeError",
    "ValueError",
    "callable",
    "exit",
    "input",
    "hash",
    "ord",
    "chr",
    "frozenset",
    "issubclass",
    "delattr",
}


class Expressions(Always):
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

    def _generated(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, generators: list[ast.comprehension]
    ) -> object:
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
            return (
                inside[place] if place is not None and -len(inside) <= place < len(inside) else inside[0] if inside else UNKNOWN
            )
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
            return Box(box.kind, None, None, self.any_of(box), box.loops, box.ids)
        found = self.any_of(box)
        return (
            Number(terms=((self.symbol(), 1),)) if isinstance(index, Remainder | Number) and isinstance(found, Number) else found
        )

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
