"""Where the reading stands: names, open loops, running calls, whether autograd records, whether the device may still be busy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from breakeven.lint.reading.facts import Event, Facts, Loop
from breakeven.lint.reading.values import NOTHING, UNKNOWN, Box, Function, Scope, Tensor, Value, graph

#: Statements that are read for each one that the file holds; functions are read again for each call up to that.
BUDGET = 2
#: Small files may be read more thoroughly.
LEAST_BUDGET = 3000
DEEPEST = 12


@dataclass
class Frame:
    """A running call."""

    function: Function | None
    scope: Scope
    line: int
    returned: list[object] = field(default_factory=list)


class State:
    """What all parts of the reading share. The parts are added to it one upon the other, ending in `Walker`."""

    def __init__(self, statements: int) -> None:
        self.facts = Facts()
        self.scope = Scope({})
        self.frames: list[Frame] = []
        self.loops: list[Loop] = []
        self.calls: list[int] = []
        self.grad = True
        self.rare = 0
        self.forward_depth = 0
        self.pending = False
        self.known = True
        self.work = 0
        self.epochs = 0
        self.steps = 0
        self.double = 0
        self.doubles: set[tuple[int, int]] = set()
        self.default_device: str | None = None
        self.left = max(BUDGET * statements, LEAST_BUDGET)
        self._symbols = 0
        self._constants = 0

    # What later parts bring.

    def evaluate(self, node: ast.expr) -> object:
        """What an expression stands for; notes what happens on the way."""
        raise NotImplementedError

    def call_function(self, function: Function, arguments: list[object], options: dict[str, object], node: ast.AST) -> object:
        """Reads a function of the file with these arguments."""
        raise NotImplementedError

    def call(self, callee: object, arguments: list[object], options: dict[str, object], node: ast.expr) -> object:
        """What calling something gives."""
        raise NotImplementedError

    def element(self, value: object) -> object:
        """What iterating over a value gives each time."""
        raise NotImplementedError

    def attribute(self, owner: object, name: str) -> object:
        """An attribute of something."""
        raise NotImplementedError

    # What happens.

    def note(
        self,
        kind: str,
        node: ast.AST,
        value: Tensor | None = None,
        other: Tensor | None = None,
        name: str = "",
        number: int = 0,
    ) -> int:
        """Writes an event down, and gives its position (from 1)."""
        events = self.facts.events
        position = len(events) + 1
        events.append(
            Event(
                kind, getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1, tuple(self.loops), self.forward_depth > 0,
                self.rare > 0, self.grad, tuple(self.calls), value, other, name, number, position, self.known,
            )
        )  # fmt: skip
        return position

    def symbol(self) -> int:
        """A fresh name for a number that is drawn anew each time."""
        self._symbols += 1
        return self._symbols

    def constant(self) -> int:
        """A fresh name for a number that stays as it is."""
        self._constants -= 1
        return self._constants

    def open_loops(self) -> frozenset[int]:
        """The tags of the loops that are open."""
        return frozenset(loop.symbol for loop in self.loops)

    def launched(self) -> None:
        """Device work has been issued."""
        self.work += 1
        self.pending = True

    def synchronised(self) -> None:
        """The host has waited for the device."""
        self.pending = False

    def stepped(self, ids: frozenset[int] = NOTHING) -> None:
        """A backward pass or an optimizer's step: the innermost loop is one of training steps."""
        self.facts.used |= ids
        self.facts.trains = True
        self.steps += 1
        if self.loops:
            self.loops[-1].steps = True
            for loop in self.loops[:-1]:
                loop.holds_steps = True
            self.epochs += self.loops[0].holds_steps

    def escaped(self, *values: object) -> None:
        """A value went where the reading cannot follow: it may end in a backward pass."""
        for value in values:
            self.facts.used |= graph(value)

    @contextmanager
    def seldom(self, rare: bool) -> Iterator[None]:
        """Reads a branch that is taken now and then."""
        self.rare += rare
        try:
            yield
        finally:
            self.rare -= rare

    @contextmanager
    def recording(self, grad: bool) -> Iterator[None]:
        """Reads a part with autograd on or off."""
        before, self.grad = self.grad, grad
        try:
            yield
        finally:
            self.grad = before

    @contextmanager
    def looping(self, node: ast.AST) -> Iterator[Loop]:
        """Reads the body of a loop."""
        loop = Loop(node, getattr(node, "lineno", 0), self.symbol())
        self.loops.append(loop)
        try:
            yield loop
        finally:
            self.loops.pop()


def elements(box: Box) -> list[object]:
    """Everything that may lie in a container."""
    return [*(box.items or ()), *(box.keys or {}).values(), *([] if box.element is UNKNOWN else [box.element])]


def tags(*values: object) -> frozenset[int]:
    """The loops and carried names behind some values."""
    found = NOTHING
    for value in values:
        if isinstance(value, Value):
            found |= value.tags
        elif isinstance(value, Box):
            found |= tags(*elements(value))
    return found


def tensors(*values: object) -> list[Tensor]:
    """The tensors among some values and in their containers."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, Box):
            found += tensors(*elements(value))
    return found
