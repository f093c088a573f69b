"""What MATLAB expressions are worth by what is known: names, calls, parts, literals. Nothing runs, and nothing has an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lark import Token, Tree

from breakeven.errors import InputError
from breakeven.models.matlab import arrays
from breakeven.models.matlab.arguments import Arguments, split
from breakeven.models.matlab.functions import FUNCTIONS, SEVERAL, SILENT
from breakeven.models.matlab.graph import graph_function
from breakeven.models.matlab.layer_calls import LAYERS, made
from breakeven.models.matlab.options import training_options
from breakeven.models.matlab.parse import Node
from breakeven.models.matlab.values import Cell, Graph, Handle, Options, Sized, Struct, Unknown, Value, plain_shape, size_of
from breakeven.models.network import Place

#: Statements and expressions that are looked at, and calls of the script's own functions within each other.
_MOST = 500_000
_DEEPEST = 20
_GRAPHS = ("layerGraph", "dlnetwork", "addLayers", "connectLayers", "disconnectLayers", "removeLayers", "replaceLayer")
_TRAINERS = ("trainNetwork", "trainnet")
#: Functions of training loops that someone writes themselves.
_OWN_LOOP = ("adamupdate", "sgdmupdate", "rmspropupdate", "dlfeval", "dlupdate", "lbfgsupdate")


@dataclass(frozen=True)
class TrainCall:
    """A call that trains: its function, the arguments, and what stands in their places."""

    function: str
    values: tuple[Value, ...]
    names: tuple[str, ...]
    place: Place


class Leave(Exception):
    """`break`, `continue` or `return`."""

    def __init__(self, word: str) -> None:
        super().__init__(word)
        self.word = word


@dataclass
class Expressions:
    """A script on its way: what is known so far, and what expressions are worth by it.

    Attributes:
        file: its name, for places.
        lines: its text.
        given: sizes and numbers that the user gives for variables.
        variables: what is known.
        trained: the calls that train, in order.
        own_loop: where the script trains by a loop of its own.
    """

    file: str
    lines: Sequence[str]
    given: Mapping[str, Value]
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Tree[Token]] = field(default_factory=dict)
    trained: list[TrainCall] = field(default_factory=list)
    own_loop: Place | None = None
    looked: int = 0
    depth: int = 0
    ends: list[tuple[Value, int, int]] = field(default_factory=list)

    def place(self, node: Node) -> Place:
        """The line of a node."""
        line = _line(node) or 1
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return Place(self.file, line, text)

    def block(self, node: Node) -> None:
        """Statements in their order; `evaluate.py` knows them."""
        raise NotImplementedError

    def value(self, node: Node) -> Value:
        """What an expression is worth."""
        self.tick(node)
        assert isinstance(node, Tree)
        return _EXPRESSIONS[str(node.data)](self, node)

    def tick(self, node: Node) -> None:
        """Counts what is looked at, so that a script that loops for ever is given up."""
        self.looked += 1
        if self.looked > _MOST:
            raise InputError(f"{self.place(node)}: the script loops too long to be read")

    def name(self, node: Tree[Token]) -> Value:
        """A variable, or a function without arguments."""
        name = str(node.children[0])
        if name in self.variables:
            value = self.variables[name]
            return self.given.get(name, value) if isinstance(value, Unknown) else value
        if name in self.given:
            return self.given[name]
        return self.called(name, [], {}, [], node)

    def call(self, node: Tree[Token]) -> Value:
        """`f(…)`: a part of a variable, or a call."""
        return self.several(node)[0]

    def several(self, node: Node) -> tuple[Value, ...]:
        """All values that an expression gives."""
        if isinstance(node, Tree) and node.data == "name" and str(node.children[0]) not in self.variables:
            name = str(node.children[0])
            if name in SEVERAL:
                return SEVERAL[name]
            if name in self.functions:
                return self.own(name, [], node)
        if not isinstance(node, Tree) or node.data != "call":
            return (self.value(node),)
        callee, *given = node.children
        if isinstance(callee, Tree) and callee.data == "name":
            name = str(callee.children[0])
            if name not in self.variables and name not in self.given:
                values, options, texts = self.arguments(given)
                if name in SEVERAL:
                    return SEVERAL[name]
                if name == "size" and len(values) == 1:
                    size = size_of(values[0])
                    return (FUNCTIONS["size"][1](values, self.place(node)), *(() if size is None else map(float, size[1:])))
                if name in self.functions:
                    return self.own(name, values, node)
                return (self.called(name, values, options, texts, node),)
        whole = self.value(callee)
        if isinstance(whole, Handle):
            values, _, _ = self.arguments(given)
            return (whole.call(values) if whole.call else self.called(whole.name, values, {}, [], node),)
        return (self.part(whole, given, node),)

    def part(self, whole: Value, given: Sequence[Node], node: Node) -> Value:
        """A part of a value, by indices in which `end` means its size."""
        at: list[Value] = []
        for position, one in enumerate(given):
            if isinstance(one, Tree) and one.data == "everything":
                at.append(":")
                continue
            self.ends.append((whole, position, len(given)))
            try:
                at.append(self.value(one))
            finally:
                self.ends.pop()
        return arrays.indexed(whole, at, self.place(node))

    def arguments(self, given: Sequence[Node]) -> tuple[list[Value], dict[str, Value], list[str]]:
        """Values, `Name=Value` pairs and names of a call's arguments."""
        values: list[Value] = []
        options: dict[str, Value] = {}
        texts: list[str] = []
        for one in given:
            assert isinstance(one, Tree)
            if one.data == "named":
                options[str(one.children[0])] = self.value(one.children[1])
            elif one.data == "everything":
                values.append(":")
                texts.append("")
            else:
                values.append(self.value(one))
                texts.append(next((str(n.children[0]) for n in one.find_data("name")), ""))
        return values, options, texts

    def called(self, name: str, values: list[Value], options: dict[str, Value], texts: list[str], node: Node) -> Value:
        """What a function gives."""
        place = self.place(node)
        self.noticed(name, place)
        if name in LAYERS:
            positions, further = split(values, LAYERS[name].positions)
            if positions[LAYERS[name].positions :]:
                raise InputError(f"{place}: {name}: takes {LAYERS[name].positions} arguments, then names and values")
            return Graph((made(name, Arguments(name, place, positions, {**further, **options})),))
        if name in _GRAPHS:
            return graph_function(Arguments(name, place, values, options))
        if name == "trainingOptions":
            positions, further = split(values, 1)
            return training_options(Arguments(name, place, positions, {**further, **options}))
        if name in _TRAINERS:
            self.trained.append(TrainCall(name, tuple(values), tuple(texts), place))
            return Unknown("a trained network", place)
        if name in self.functions:
            return self.own(name, values, node)[0]
        if name in FUNCTIONS:
            fewest, compute = FUNCTIONS[name]
            unknown = next((v for v in values if isinstance(v, Unknown)), None)
            if unknown is not None:
                return unknown
            return compute(values, place) if len(values) >= fewest else Unknown(f"{name} has too few arguments", place)
        if name in SILENT:
            return float("nan")
        said = f"{name} is a layer that is not understood here" if name.endswith("Layer") else f"nothing is known of {name!r}"
        return Unknown(said, place)

    def noticed(self, name: str, place: Place) -> None:
        """Keeps where a training loop of the script's own begins."""
        if name in _OWN_LOOP and self.own_loop is None:
            self.own_loop = place

    def own(self, name: str, values: Sequence[Value], node: Node) -> tuple[Value, ...]:
        """A function that the script defines."""
        if self.depth >= _DEEPEST:
            return (Unknown(f"{name} calls itself too often", self.place(node)),)
        definition = self.functions[name]
        parts = {c.data: c for c in definition.children if isinstance(c, Tree)}
        asked = [str(c) for c in parts["parameters"].children] if "parameters" in parts else []
        outer, self.variables = self.variables, dict(zip(asked, values, strict=False))
        ends, self.ends, self.depth = self.ends, [], self.depth + 1
        try:
            self.block(definition.children[-1])
        except Leave:
            pass
        finally:
            inner, self.variables, self.ends, self.depth = self.variables, outer, ends, self.depth - 1
        names = (
            [str(t) for t in parts["returns"].scan_values(lambda t: isinstance(t, Token) and t.type == "NAME")]
            if "returns" in parts
            else []
        )
        nothing = Unknown(f"{name} gives nothing", self.place(node))
        return tuple(inner.get(one, nothing) for one in names) or (nothing,)

    def binary(self, node: Tree[Token]) -> Value:
        """`a + b`."""
        left, sign, right = node.children
        return arrays.binary(str(sign), self.value(left), self.value(right), self.place(node))

    def contents(self, node: Tree[Token]) -> Value:
        """`c{…}`."""
        callee, *given = node.children
        whole = self.value(callee)
        if isinstance(whole, Sized) and len(whole.shape) > 2:  # sequences said with one size: an element is one of them
            return Sized(plain_shape(whole.shape[:-1]))
        found = self.part(whole, given, node)
        if isinstance(found, Cell):
            return found.items[0] if len(found.items) == 1 else Unknown("several elements of a cell array", self.place(node))
        return found if isinstance(found, Unknown) else Unknown("this is no cell array", self.place(node))

    def field(self, node: Tree[Token]) -> Value:
        """`s.f`."""
        whole = self.value(node.children[0])
        name = str(node.children[1])
        if isinstance(whole, Unknown):
            return whole
        if isinstance(whole, Struct) and name in whole.fields:
            return whole.fields[name]
        if isinstance(whole, Graph) and name == "Layers":
            return Graph(whole.layers)
        if isinstance(whole, Options) and name == "MiniBatchSize":
            return float(whole.training.batch)
        return Unknown(f"nothing is known of its field {name!r}", self.place(node))

    def last(self, node: Tree[Token]) -> Value:
        """`end` as an index."""
        if not self.ends:
            return Unknown("`end` stands outside of an index", self.place(node))
        whole, position, count = self.ends[-1]
        size = size_of(whole)
        if size is None:
            return whole
        if count == 1:
            total = 1.0
            for n in size:
                total *= n
            return total
        return float(size[position]) if position < len(size) else 1.0

    def handle(self, node: Tree[Token]) -> Value:
        """`@f`."""
        (dotted,) = node.children
        return Handle(str(dotted.children[-1]) if isinstance(dotted, Tree) else "")

    def anonymous(self, node: Tree[Token]) -> Value:
        """`@(x) …`."""
        parameters, body = node.children
        assert isinstance(parameters, Tree)
        names = [str(c) for c in parameters.children]
        known = dict(self.variables)

        def call(values: list[Value]) -> Value:
            if self.depth >= _DEEPEST:
                return Unknown("a function calls itself too often", self.place(node))
            outer, self.variables = self.variables, {**known, **dict(zip(names, values, strict=False))}
            self.depth += 1
            try:
                return self.value(body)
            finally:
                self.variables, self.depth = outer, self.depth - 1

        return Handle("", call)

    def rows(self, node: Tree[Token]) -> list[list[Value]]:
        """The rows of a matrix or a cell array."""
        return [[self.value(c) for c in row.children] for row in node.children if isinstance(row, Tree) and row.children]

    def cell(self, node: Tree[Token]) -> Value:
        """`{…}`."""
        rows = self.rows(node)
        items = tuple(value for row in rows for value in row)
        return Cell(items, (len(rows), len(rows[0])) if rows and len({len(r) for r in rows}) == 1 else (1, len(items)))


def _line(node: Node) -> int | None:
    if isinstance(node, Token):
        return node.line
    line = getattr(node.meta, "line", None)
    if isinstance(line, int):
        return line
    return next((found for child in node.children if (found := _line(child)) is not None), None)


def _number(text: str) -> float:
    if text[:2].lower() in ("0x", "0b"):
        return float(int(text, 0)) if len(text) < 40 else float("inf")
    return float(text.lower().replace("d", "e"))


_EXPRESSIONS: dict[str, Callable[[Any, Tree[Token]], Value]] = {  # Any: the class above, or one that is built on it
    "name": Expressions.name,
    "call": Expressions.call,
    "contents": Expressions.contents,
    "field": Expressions.field,
    "last": Expressions.last,
    "anonymous": Expressions.anonymous,
    "cell": Expressions.cell,
    "number": lambda self, node: _number(str(node.children[0])),
    "named": lambda self, node: Unknown("a name with a value stands where no function is called", self.place(node)),
    "everything": lambda self, node: Unknown("`:` stands outside of an index", self.place(node)),
    "text": lambda self, node: str(node.children[0]),
    "blank": lambda self, node: Unknown("`~` stands for no value", self.place(node)),
    "handle": Expressions.handle,
    "computed_field": lambda self, node: Unknown("a field is named by an expression", self.place(node)),
    "matrix": lambda self, node: arrays.joined(self.rows(node), self.place(node)),
    "binary": Expressions.binary,
    "prefix": lambda self, node: arrays.prefix(str(node.children[0]), self.value(node.children[1]), self.place(node)),
    "transposed": lambda self, node: arrays.transposed(self.value(node.children[0]), self.place(node)),
    "span": lambda self, node: arrays.span([self.value(c) for c in node.children], self.place(node)),
}
