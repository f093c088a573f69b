"""Assignments to variables, and to parts of them: elements of cell arrays, layers of an array, fields."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from lark import Token, Tree

from breakeven.models.matlab.parse import Node
from breakeven.models.matlab.values import KEPT, Cell, Graph, Sized, Struct, Unknown, Value
from breakeven.models.network import Place

#: Most elements of a cell array or layers of an array that grow by assignments.
_MOST = 20_000


class Variables(Protocol):
    """What an assignment needs of the evaluator."""

    variables: dict[str, Value]
    ends: list[tuple[Value, int, int]]

    def value(self, node: Node) -> Value: ...  # noqa: D102
    def place(self, node: Node) -> Place: ...  # noqa: D102


def assigned(to: Variables, target: Node, value: Value) -> None:
    """Give a target its value; where a part is assigned in a way that is not followed, the whole is not known."""
    if not isinstance(target, Tree):
        return
    if target.data == "name":
        to.variables[str(target.children[0])] = value
        return
    root = next(target.find_data("name"), None)
    if root is None:
        return
    name = str(root.children[0])
    whole = to.variables.get(name)
    inner = target.children[0]
    direct = isinstance(inner, Tree) and inner.data == "name"
    made: Value | None = None
    if direct and target.data == "field" and (whole is None or isinstance(whole, Struct)):
        made = Struct({**(whole.fields if whole is not None else {}), str(target.children[1]): value})
    elif direct and target.data in ("contents", "call") and len(target.children) == 2:
        made = _element(to, target, whole, value)
    if made is None:
        made = whole if isinstance(whole, Sized) and target.data == "call" else Unknown(
            "a part of it is set in a way that is not followed", to.place(target))  # fmt: skip
    to.variables[name] = made


def _element(to: Variables, target: Tree[Token], whole: Value | None, value: Value) -> Value | None:
    """`whole{at} = value`, `whole(at) = value`; None: not followed."""
    index = target.children[1]
    empty: Value = np.zeros((0, 0))
    before = empty if whole is None else whole
    to.ends.append((before, 0, 1))
    try:
        at = to.value(index) if isinstance(index, Tree) and index.data != "everything" else empty
    finally:
        to.ends.pop()
    if not isinstance(at, float) or not 1 <= at <= _MOST or at != int(at):
        return None
    position = int(at) - 1
    blank = isinstance(before, np.ndarray) and before.size == 0
    if target.data == "contents" and (isinstance(before, Cell) or blank):
        items = list(before.items) if isinstance(before, Cell) else []
        items += [empty] * (position + 1 - len(items))
        items[position] = value
        shape = before.shape if isinstance(before, Cell) and len(items) == len(before.items) else (1, len(items))
        return Cell(tuple(items), shape)
    if target.data == "call" and (isinstance(before, Graph) or (blank and isinstance(value, Graph))):
        layers = before.layers if isinstance(before, Graph) else ()
        gone = isinstance(value, np.ndarray) and value.size == 0
        if position > len(layers) or (not isinstance(value, Graph) and not gone) or (gone and position == len(layers)):
            return None
        put = value.layers if isinstance(value, Graph) else ()
        return Graph((*layers[:position], *put, *layers[position + 1 :]))
    if target.data == "call" and isinstance(before, np.ndarray | float) and isinstance(value, float):
        array = np.atleast_2d(np.array(before, dtype=float))
        if blank:
            array = np.zeros((1, 0))
        if 1 not in array.shape or position >= KEPT:
            return None
        flat = np.concatenate([array.reshape(-1), np.zeros(max(0, position + 1 - array.size))])
        flat[position] = value
        return flat.reshape((-1, 1) if array.shape[1] == 1 and array.shape[0] > 1 else (1, -1))
    return None
