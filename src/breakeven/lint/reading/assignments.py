"""Assignments: to names, tuples, attributes and elements, and sums that go on."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import settings
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.expressions import Expressions
from breakeven.lint.reading.state import tags, tensors
from breakeven.lint.reading.values import Box, Const, Number, Ref, Tensor, Thing, Value, graph


class Assignments(Expressions):
    """Executes assignments."""

    def _assign(self, node: ast.Assign) -> None:
        sum_of = node.value if isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add) else None
        if sum_of is not None and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(sum_of.left, ast.Name) and sum_of.left.id == name:  # `total = total + loss`
                self._augment(
                    ast.AugAssign(node.targets[0], sum_of.op, sum_of.right, lineno=node.lineno, col_offset=node.col_offset)
                )
                return
        value = self.evaluate(node.value)
        for target in node.targets:
            self.bind(target, value)

    def _assign_annotated(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.evaluate(node.value))

    def bind(self, target: ast.expr, value: object) -> None:
        """Assigns to a name, a tuple, an attribute or an element."""
        if isinstance(target, ast.Name):
            self.scope.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, Box("list", None, element=self.element(value)))
        elif isinstance(target, ast.Attribute):
            self._set_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._set_item(target, value)

    def _unpack(self, targets: list[ast.expr], value: object) -> None:
        items = value.items if isinstance(value, Box) else None
        if items is not None and len(items) == len(targets) and not any(isinstance(t, ast.Starred) for t in targets):
            for target, item in zip(targets, items, strict=True):
                self.bind(target, item)
            return
        if isinstance(value, Tensor):
            part: object = replace(value, origin=value.origin)
        elif isinstance(value, Box):
            part = self.any_of(value)
        else:
            part = Value(graph(value), tags(value))
        for target in targets:
            self.bind(target, part)

    def _set_attribute(self, target: ast.Attribute, value: object) -> None:
        owner = self.evaluate(target.value)
        if isinstance(owner, Thing):
            owner.attrs[target.attr] = value
        elif isinstance(owner, Ref) and owner.path == "torch.backends.cudnn" and target.attr == "benchmark":
            self.note("benchmark", target, name="on" if isinstance(value, Const) and value.value is True else "off")
        elif isinstance(owner, Tensor) and target.attr == "grad" and isinstance(value, Tensor) and value.zeros:
            self.note("cleared", target, owner, name="grad")

    def _set_item(self, target: ast.Subscript, value: object) -> None:
        owner, index = self.evaluate(target.value), self.evaluate(target.slice)
        if isinstance(owner, Box):
            if owner.keys is not None and isinstance(index, Const):
                owner.keys[index.value] = value
            elif not (owner.items is not None and ops.index_of(index) is not None):
                self.put(owner, value, target)
            else:
                owner.items[ops.index_of(index) or 0 : (ops.index_of(index) or 0) + 1] = [value]
        elif isinstance(owner, Ref) and owner.path == "os.environ" and isinstance(index, Const):
            settings.environment(self, target, str(index.value), value)
        elif isinstance(owner, Tensor) and isinstance(value, Tensor) and len(self.loops) > 0:
            host = value.device == "cpu" and not value.scalar
            if owner.device == "cuda" and (host or value.moved) and not value.numpy:
                self.note("joined_copies", target, value, name="item")

    def _augment(self, node: ast.AugAssign) -> None:
        before = self.evaluate(node.target)
        added = self.evaluate(node.value)
        if isinstance(before, Box) and isinstance(node.op, ast.Add) and isinstance(added, Box):
            self.put(before, self.any_of(added), node)
            return
        value = self.binary(node.op, before, added, node)
        if isinstance(before, Tensor) and before.parameter and isinstance(value, Tensor):
            if self.loops and any(t.gradient for t in tensors(added)):
                self.note("updated", node, before, name="in place")
            value = before
        elif isinstance(value, Tensor) and tensors(added) and value.ids and self._outlives(node.target, before):
            event = self.note("kept", node, value, name="sum")
            value = replace(value, ids=value.ids | {event})
        self.bind(node.target, value)

    def _outlives(self, target: ast.expr, before: object) -> bool:
        """Whether a sum goes on from one iteration to the next."""
        if not self.loops:
            return False
        if isinstance(target, ast.Name):
            if isinstance(before, Number):  # `total = 0` before the loop
                return self.loops[-1].symbol in before.tags
            tag = self.loops[-1].carried.get(target.id)
            return tag is not None and tag in tags(before)
        return isinstance(target, ast.Attribute | ast.Subscript)
