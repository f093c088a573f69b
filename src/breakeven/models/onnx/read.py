"""An ONNX file as a description: each node one layer. Forward, or trained where a loss and an optimizer are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from breakeven.errors import InputError
from breakeven.models.asked import NOTHING, Asked
from breakeven.models.check import checked
from breakeven.models.kinds import Activation, Computed, Input, Kind, Product
from breakeven.models.network import Layer, Model, Place, Training
from breakeven.models.onnx.constants import attributes, known_values
from breakeven.models.onnx.graph import Graph, load, with_known
from breakeven.models.onnx.node import REAL, Node
from breakeven.models.onnx.operators import told
from breakeven.models.onnx.recurrence import GATES, outputs
from breakeven.models.translation import Axes

#: Whole-number types.
_WHOLE = (2, 3, 5, 6, 7)


def read(path: Path, asked: Asked = NOTHING) -> Model:
    """The network in an ONNX file.

    Raises:
        InputError: what it is, where, and the way out; custom operators are refused with their names.
        MissingExtra: the onnx package is not here.
    """
    notes: list[str] = []
    if (asked.loss is None) != (asked.optimizer is None):
        raise InputError("an ONNX file is trained where both --loss and --optimizer are named; without them it runs forward")
    graph = load(path, asked, notes)
    try:
        graph = _settled(graph, path)
        return _Reader(path.name, graph, asked, notes).read()
    except InputError as error:
        said = str(error)
        raise InputError(said if path.name in said else f"{path.name}: {said}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise InputError(f"{path}: not as ONNX has it ({type(error).__name__}: {str(error)[:100]})") from None


def _settled(graph: Graph, path: Path) -> Graph:
    """Shapes that follow from values that are known, as exporters compute sizes in the graph itself."""
    before = -1
    while before < len(graph.shapes):  # each round knows more, or is the last
        before = len(graph.shapes)
        graph = with_known(graph, known_values(graph), path)
    return graph


class _Reader:
    """Reads one graph: the layers so far, where each value is, what is known before it runs."""

    def __init__(self, file: str, graph: Graph, asked: Asked, notes: list[str]) -> None:
        self.file, self.graph, self.asked, self.notes = file, graph, asked, notes
        self.layers: list[Layer] = []
        self.values: dict[str, tuple[str, str]] = {}
        self.known = known_values(graph)
        self.steps: dict[str, int | None] = {}

    def read(self) -> Model:
        """The model."""
        self._inputs()
        for number, node in enumerate(self.graph.nodes, 1):
            try:
                self._node(number, node)
            except InputError as error:
                raise InputError(f"{self.file}: node {node.name[:60]!r} ({node.op_type[:40]}): {error}") from None
        return self._model()

    def _inputs(self) -> None:
        rows = self._rows()
        for name, (shape, kind) in self.graph.inputs.items():
            layer = f"input_{len(self.values)}"
            words = rows.get(name, 2) if kind in _WHOLE else None
            if (words is not None and len(shape) > 2) or kind not in (*_WHOLE, *REAL):
                raise InputError(f"{self.file}: input {name[:60]!r}: {len(shape)} axes of type {kind} are not understood")
            made = _input(shape, words)
            self.steps[layer] = shape[1] if made.sequence else None
            self.layers.append(Layer(layer, made, (), Place(self.file, 1, f"input {name}")))
            text = "@.squeeze(1)" if len(shape) == 1 and words is None else "@"
            self.values[name] = (layer, text)
        if not self.values:
            raise InputError(f"{self.file}: nothing goes in")

    def _rows(self) -> dict[str, int]:
        """How many different numbers each input of whole numbers may hold: the rows of the tables that it looks into."""
        found: dict[str, int] = {}
        source = {name: name for name in self.graph.inputs}
        for node in self.graph.nodes:
            if node.op_type in ("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze") and node.input[0] in source:
                source[node.output[0]] = source[node.input[0]]
            if node.op_type == "Gather" and len(node.input) == 2 and node.input[1] in source:
                shape = self.graph.shapes.get(node.input[0])
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                if shape:
                    name = source[node.input[1]]
                    found[name] = min(shape[axis], found.get(name, shape[axis]))
        return found

    def _node(self, number: int, node: Any) -> None:  # Any: protobuf's message
        if node.output[0] in self.known:
            return
        if node.op_type == "Identity" and node.input[0] in self.graph.constants and node.input[0] not in self.known:
            new, old, graph = node.output[0], node.input[0], self.graph
            graph.constants[new], graph.shapes[new], graph.types[new] = graph.constants[old], graph.shapes[old], graph.types[old]
            return
        self._layer(number, node, attributes(node, self.graph))

    def _layer(self, number: int, proto: Any, given: dict[str, Any]) -> None:  # Any: protobuf's message
        known = {at: self.known[name] for at, name in enumerate(proto.input) if name in self.known}
        node = Node(
            op=proto.op_type, opset=self.graph.opset, attributes=given, inputs=tuple(proto.input),
            fed=tuple(self._shape(name) for name in proto.input),
            given=tuple(self.graph.shapes.get(name) for name in proto.output),
            types=tuple(self._type(name) for name in proto.input), known=known,
            stored=frozenset(at for at, name in enumerate(proto.input) if name in self.graph.constants), find=self._find,
        )  # fmt: skip
        one = told(node)
        name = f"{proto.op_type.lower()}_{number}"
        shape = self._sample(node.given[0] if node.given else None)
        batch = max(1, self.graph.batch)
        kind = Computed(one.calls, shape, tuple(node.makes), tuple(node.arrays), tuple(node.needs), one.flops / batch,
                        tuple(_for_one(p, batch) for p in one.products))  # fmt: skip
        if not node.reads:
            raise InputError("reads nothing that is known only when the graph runs, and is not computed before")
        self.layers.append(Layer(name, kind, tuple(node.reads), Place(self.file, number, f"{proto.name} ({proto.op_type})")))
        texts = outputs(node) if proto.op_type in GATES else ("@",)
        if proto.op_type == "Split":
            texts = tuple(f"@[{at}]" for at in range(len(proto.output)))
        for output, text in zip(proto.output, texts, strict=False):
            self.values[output] = (name, text)

    def _find(self, name: str) -> tuple[str, str]:
        if name not in self.values:
            raise InputError(f"reads {name[:60]!r}, which nothing gives")
        return self.values[name]

    def _shape(self, name: str) -> Axes | None:
        return tuple(self.known[name].shape) if name in self.known else self.graph.shapes.get(name)

    def _type(self, name: str) -> int:
        if name in self.known and name not in self.graph.constants:
            kinds = {"float32": 1, "int32": 6, "int64": 7, "bool": 9, "float64": 11}
            return kinds.get(str(self.known[name].dtype), 1)
        return self.graph.types.get(name, 1)

    def _sample(self, shape: Axes | None) -> Axes:
        return tuple(shape[1:]) if shape and min(shape) > 0 else (1,)

    def _model(self) -> Model:
        output = self.graph.outputs[0]
        if output not in self.values:
            raise InputError(f"{self.file}: the output {output[:60]!r} depends on no input")
        if len(self.graph.outputs) > 1:
            self.notes.append(f"The file has {len(self.graph.outputs)} outputs; what the first ({output}) needs is computed.")
        name, text = self.values[output]
        whole = self.graph.shapes.get(output)
        training = self._training(whole)
        if text != "@":
            self.layers.append(Layer("output", Computed(text.replace("@", "$0"), self._sample(whole)), (name,)))
            name = "output"
        if training.learns and whole is not None and len(whole) == 1:
            self.layers.append(Layer("column", Computed("$0.unsqueeze(1)", (1,)), (name,)))
            name = "column"
        self._last(name, training)
        needed = self._needed(self.layers[-1].name if self.layers[-1].name == "last" else name)
        kept = [layer for layer in self.layers if layer.name in needed]
        dropped = [layer.name for layer in self.layers if isinstance(layer.kind, Input) and layer.name not in needed]
        if dropped:
            self.notes.append(f"{len(dropped)} inputs are read by nothing that the output needs; they are left out.")
        return Model(checked(kept, self.steps), training, None, tuple(dict.fromkeys(self.notes)))

    def _last(self, name: str, training: Training) -> None:
        """A softmax or sigmoid at the end, on its own, so that the loss can take it in."""
        at = next(i for i, layer in enumerate(self.layers) if layer.name == name)
        kind = self.layers[at].kind
        if not training.learns or not isinstance(kind, Computed) or len(kind.shape) != 1:
            return
        for word, start, end in (("softmax", "F.softmax(", ", 1)"), ("sigmoid", "torch.sigmoid(", ")")):
            if kind.calls.startswith(start) and kind.calls.endswith(end):
                inner: Kind = Computed(kind.calls[len(start) : len(kind.calls) - len(end)], kind.shape)
                self.layers[at] = Layer(name, inner, self.layers[at].inputs, self.layers[at].place)
                self.layers.append(Layer("last", Activation(word), (name,)))  # type: ignore[arg-type]  # two words of the literal

    def _needed(self, name: str) -> set[str]:
        inputs = {layer.name: layer.inputs for layer in self.layers}
        needed: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in needed:
                needed.add(one)
                waiting += inputs[one]
        return needed

    def _training(self, output: Axes | None) -> Training:
        batch, place = self.graph.batch, Place(self.file, 1)
        if self.asked.loss is None:
            self.notes.append("An ONNX file says no training, so a step is the forward pass; --loss and --optimizer name one.")
            return Training(batch=batch, epochs=1000, read_every=None, learns=False, place=place)
        if output is None or not output or output[0] != batch:
            raise InputError(f"{self.file}: the output's first axis is not the batch: it cannot be trained as it is")
        kind = self.graph.types.get(self.graph.outputs[0], 1)
        if kind not in REAL:
            raise InputError(f"{self.file}: the output holds whole numbers: it cannot be trained")
        return self.asked.applied(Training(batch=batch, epochs=1000, place=place))


def _for_one(product: Product, batch: int) -> Product:
    """A product of a whole batch as that of one sample, where it can be divided."""
    sizes = tuple((name, max(1, size // batch) if name == product.batch else size) for name, size in product.sizes)
    return Product(product.op, sizes, product.batch)


def _input(shape: Axes, words: int | None) -> Input:
    sample = shape[1:]
    if words is not None:
        return Input(1, (), sequence=bool(sample), words=words)
    if len(sample) < 2:
        return Input(sample[0] if sample else 1)
    if len(sample) == 2:
        return Input(sample[1], (), sequence=True)
    return Input(sample[0], sample[1:])
