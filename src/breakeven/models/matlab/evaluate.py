"""Goes through a MATLAB script statement by statement and keeps what each variable is worth, without running anything.

What cannot be known (files, random numbers, functions that are not here) stays unknown, with its reason and line, and is no error
until a layer, an option or the size of the data needs it.
"""

from __future__ import annotations

import numpy as np
from lark import Token, Tree

from breakeven.models.matlab import arrays
from breakeven.models.matlab.assign import assigned
from breakeven.models.matlab.expressions import Expressions, Leave
from breakeven.models.matlab.parse import Node
from breakeven.models.matlab.values import Cell, Graph, Handle, Options, Sized, Struct, Unknown, Value, size_of
from breakeven.models.network import Place

#: Turns from which on a loop is not followed any more.
_LONG = 20_000


class Evaluator(Expressions):
    """One script on its way, statement by statement."""

    def run(self, tree: Tree[Token]) -> None:
        """Go through the whole script; where it holds functions alone, through the first."""
        for node in tree.find_data("function"):
            name = str(next(c for c in node.children if isinstance(c, Tree) and c.data == "dotted").children[-1])
            self.functions.setdefault(name, node)
        block = tree.children[0]
        assert isinstance(block, Tree)
        own = [c for c in block.children if isinstance(c, Tree) and c.data not in ("function", "command")]
        if not own and self.functions:
            block = next(iter(self.functions.values())).children[-1]
        try:
            self.block(block)
        except Leave:
            return

    def block(self, node: Node) -> None:
        """Statements in their order."""
        assert isinstance(node, Tree)
        for statement in node.children:
            if isinstance(statement, Tree):
                self.tick(statement)
                action = _STATEMENTS.get(str(statement.data))
                if action is not None:
                    action(self, statement)

    def assign(self, node: Tree[Token]) -> None:
        """`target = value`, also of several targets."""
        target, source = node.children
        value = self.several(source) if isinstance(target, Tree) and target.data == "matrix" else (self.value(source),)
        targets = [target]
        if isinstance(target, Tree) and target.data == "matrix":
            targets = [part for row in target.children if isinstance(row, Tree) for part in row.children]
        for at, one in enumerate(targets):
            worth = value[at] if at < len(value) else Unknown("a further output of a function", self.place(source))
            self.put(one, worth)

    def put(self, target: Node, value: Value) -> None:
        """Give a target its value."""
        assigned(self, target, value)

    def result(self, node: Tree[Token]) -> None:
        """An expression that stands alone."""
        self.variables["ans"] = self.value(node.children[0])

    def command(self, node: Tree[Token]) -> None:
        """`load file`, `clear all`: nothing is known of it."""

    def branch(self, node: Tree[Token]) -> None:
        """`if`: the part whose condition holds; where that is not known, all that it would change is not known either."""
        parts = list(node.children)
        while len(parts) >= 2:
            condition = arrays.truth(self.value(parts[0]))
            if condition is None:
                for part in parts:
                    self.forget(part, "it depends on a condition that is not known", self.place(parts[0]))
                return None
            if condition:
                return self.block(parts[1])
            parts = parts[2:]
        return self.block(parts[0]) if parts else None

    def loop(self, node: Tree[Token]) -> None:
        """`for`."""
        name, source, body = node.children
        values = self.value(source)
        size = size_of(values)
        if size is None or isinstance(values, Graph | Struct | Options | Handle | str):
            return self.forget(node, "it is set in a loop over what is not known", self.place(source))
        columns = 1
        for n in size[1:]:
            columns *= n
        if columns > _LONG:
            return self.forget(node, f"it is set in a loop of {columns:,} turns, which is not followed", self.place(source))
        for at in range(columns if size[0] else 0):
            if isinstance(values, np.ndarray):
                item: Value = float(values[0, at]) if values.shape[0] == 1 else values[:, at : at + 1]
            elif isinstance(values, Sized):
                item = Unknown("an element of an array", self.place(source)) if size[0] > 1 else self._counted(source, at)
            else:
                item = values if isinstance(values, float) else Unknown("an element", self.place(source))
            self.variables[str(name)] = item
            if not self.turn(body):
                return None
        return None

    def turn(self, body: Node) -> bool:
        """The body of a loop once; whether the loop goes on."""
        try:
            self.block(body)
        except Leave as left:
            if left.word == "return":
                raise
            return left.word != "break"
        return True

    def _counted(self, source: Node, at: int) -> Value:
        """An element of a range that is too long to be kept."""
        if isinstance(source, Tree) and source.data == "span" and len(source.children) == 2:
            first = self.value(source.children[0])
            return first + at if isinstance(first, float) else Unknown("an element of an array", self.place(source))
        return Unknown("an element of an array", self.place(source))

    def repeat(self, node: Tree[Token]) -> None:
        """`while`."""
        condition, body = node.children
        while True:
            holds = arrays.truth(self.value(condition))
            if holds is None:
                return self.forget(body, "it is set in a loop whose end is not known", self.place(condition))
            if not holds or not self.turn(body):
                return None

    def choice(self, node: Tree[Token]) -> None:
        """`switch`."""
        asked, *parts = node.children
        wanted = self.value(asked)
        while len(parts) >= 2:
            case = self.value(parts[0])
            if isinstance(wanted, Unknown) or isinstance(case, Unknown):
                for part in parts:
                    self.forget(part, "it depends on what is not known", self.place(asked))
                return None
            if any(_equal(wanted, one) for one in (case.items if isinstance(case, Cell) else (case,))):
                return self.block(parts[1])
            parts = parts[2:]
        return self.block(parts[0]) if parts else None

    def attempt(self, node: Tree[Token]) -> None:
        """`try`: as if nothing went wrong."""
        self.block(node.children[0])

    def leave(self, node: Tree[Token]) -> None:
        """`break`, `continue`, `return`."""
        raise Leave(str(node.children[0]))

    def forget(self, node: Node, reason: str, place: Place) -> None:
        """Whatever a part of the script would assign is not known."""
        if not isinstance(node, Tree):
            return
        for statement in node.find_data("assign"):
            target = statement.children[0]
            assert isinstance(target, Tree)
            for name in target.find_data("name"):
                self.variables[str(name.children[0])] = Unknown(reason, place)
        for call in node.find_data("call"):
            self.noticed(str(_called(call)), place)


def _called(node: Tree[Token]) -> str:
    callee = node.children[0]
    return str(callee.children[0]) if isinstance(callee, Tree) and callee.data == "name" else ""


def _equal(a: Value, b: Value) -> bool:
    return type(a) is type(b) and isinstance(a, str | float) and a == b


_STATEMENTS = {
    "assign": Evaluator.assign, "result": Evaluator.result, "command": Evaluator.command, "branch": Evaluator.branch,
    "loop": Evaluator.loop, "repeat": Evaluator.repeat, "choice": Evaluator.choice, "attempt": Evaluator.attempt,
    "leave": Evaluator.leave,
}  # fmt: skip
