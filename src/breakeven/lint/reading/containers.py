"""Lists, dictionaries, loaders and what else holds values: what is put in, what is taken out, what iterating gives."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import State, tags, tensors
from breakeven.lint.reading.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Class,
    Const,
    Function,
    Number,
    Tensor,
    Thing,
    Value,
    graph,
    join,
)  # fmt: skip

#: Methods that show what they are given.
SHOWING = {"set_postfix", "set_description", "add_scalar", "info", "warning", "set_postfix_str", "write", "format", "debug"}


class Containers(State):
    """Puts values into containers and takes them out."""

    def call_on_box(self, box: Box, name: str, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """Lists, dictionaries and what else holds values."""
        if name in SHOWING:  # a progress bar around a list
            ops.look(self, "print", node, *arguments, *options.values())
            return Const(value=None)
        if name in ("append", "add", "appendleft", "extend"):
            values = [self.element(a) if name == "extend" else a for a in arguments[-1:]]
            for value in values:
                self.put(box, value, node)
            return Const(value=None)
        if name == "insert" and len(arguments) > 1:
            self.put(box, arguments[1], node)
        elif name in ("items", "values", "keys"):
            value = self.element(Box("list", None, element=self.any_of(box)))
            return Box(
                "list",
                None,
                element=Box("tuple", [UNKNOWN, value]) if name == "items" else value if name == "values" else UNKNOWN,
            )
        elif name in ("pop", "get", "popleft"):
            return self.any_of(box)
        elif name == "setdefault":
            return arguments[1] if len(arguments) > 1 else UNKNOWN
        elif name == "copy":
            return box
        return UNKNOWN

    def put(self, box: Box, value: object, node: ast.AST) -> None:
        """Puts a value into a container; notes one that keeps its graph beyond the iteration."""
        if isinstance(value, Tensor) and value.ids and box.loops < len(self.loops):
            event = self.note("kept", node, value, name="list")
            value = replace(value, ids=value.ids | {event})
        elif isinstance(value, Box) and box.loops < len(self.loops):
            for tensor in tensors(value)[:1]:
                if tensor.ids:
                    event = self.note("kept", node, tensor, name="list")
                    value = Box(
                        value.kind, None, None, replace(tensor, ids=tensor.ids | {event}), value.loops, value.ids | {event}
                    )
        if box.items is not None and box.kind != "dict":
            box.element = value if not box.items else join(self.any_of(box), value)
            box.items = None
        else:
            box.element = value if box.element is UNKNOWN else join(box.element, value)
        box.ids |= graph(value)

    def any_of(self, box: Box) -> object:
        """Any of the values in a container."""
        found: object = None
        for value in [*(box.items or ()), *(box.keys or {}).values()]:
            found = join(found, value) if found is not None else value
        if found is None:
            return box.element
        return found if box.element is UNKNOWN else join(found, box.element)

    def element(self, value: object) -> object:
        """What iterating over a value gives each time."""
        loop = self.loops[-1] if self.loops else None
        seen = frozenset({loop.symbol}) if loop else NOTHING
        if isinstance(value, Tensor):
            return replace(value, tags=value.tags | seen, factory=0, origin=0)
        if isinstance(value, Box):
            if value.kind == "range":
                return Number(terms=((loop.symbol if loop else self.symbol(), 1),), tags=seen)
            found = self.any_of(value)
            return tagged(found, seen) if value.kind != "parameters" else found
        if isinstance(value, Thing) and value.kind == "torch.utils.data.DataLoader":
            return tagged(self._batch(value), seen)
        if isinstance(value, Thing) and value.kind.removeprefix(modules.NN) in ("ModuleList", "Sequential"):
            inside = modules.parts(value)
            return inside[0] if inside else UNKNOWN
        if isinstance(value, Value):
            return Value(value.ids, value.tags | seen)
        return UNKNOWN

    def _batch(self, loader: Thing) -> object:
        """A batch of a loader, as far as its data set is known."""
        dataset = loader.arguments[0] if loader.arguments else loader.options.get("dataset")
        collate = loader.options.get("collate_fn")
        node = ast.Name("batch", ast.Load(), lineno=loader.line, col_offset=0)
        item: object = UNKNOWN
        if isinstance(dataset, Thing) and dataset.kind == "torch.utils.data.TensorDataset":
            item = Box("tuple", list(dataset.arguments))
        elif isinstance(dataset, Thing) and dataset.cls is not None:
            getter = find_member(dataset.cls, "__getitem__")
            if isinstance(getter, Function):
                item = self.call_function(getter, [dataset, Number(terms=((self.symbol(), 1),))], {}, node)
        if isinstance(collate, Function):
            return self.call_function(collate, [Box("list", None, element=item)], {}, node)
        return collated(item)


def find_member(cls: Class | None, name: str) -> object | None:
    """A member of a class or of one of its bases in the file."""
    if cls is None:
        return None
    found = cls.members.get(name)
    if found is not None:
        return found
    for base in cls.bases:
        if isinstance(base, Class) and (inherited := find_member(base, name)) is not None:
            return inherited
    return None


def tagged(value: object, seen: frozenset[int]) -> object:
    """A value that was taken from what a loop runs over."""
    if isinstance(value, Tensor | Number) or type(value) is Value:
        return replace(value, tags=value.tags | seen)
    if isinstance(value, Box) and value.items is not None:
        return Box(value.kind, [tagged(i, seen) for i in value.items], value.keys, value.element, value.loops, value.ids)
    return value


def collated(item: object) -> object:
    """A batch of items: arrays and numbers become tensors on the host."""
    if isinstance(item, Tensor):
        return replace(item, numpy=False, scalar=False, factory=0, device=item.device or "cpu")
    if isinstance(item, Box):
        return Box("tuple", None if item.items is None else [collated(i) for i in item.items], element=collated(item.element))
    if isinstance(item, Const | Number):
        return Tensor(device="cpu")
    return Value(graph(item), tags(item))
