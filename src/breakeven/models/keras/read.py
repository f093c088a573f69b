"""A Keras file as a description: its configuration alone is read; nothing in it is run, and its weights stay where they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from breakeven.errors import InputError
from breakeven.models.asked import NOTHING, Asked, unused
from breakeven.models.check import checked
from breakeven.models.keras import recurrence
from breakeven.models.keras.arguments import At, plain
from breakeven.models.keras.connections import Called, Connected, Reference, connected
from breakeven.models.keras.container import configuration
from breakeven.models.keras.layers import LAYERS, MASK_PASSES, spread
from breakeven.models.keras.training import training
from breakeven.models.keras.trust import check
from breakeven.models.kinds import Activation, Computed, Input
from breakeven.models.network import Layer, Model, Place
from breakeven.models.translation import Axes, Piece, number

#: Arguments of a layer that add to the loss.
_REGULARISERS = ("kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "activity_regularizer")


def read(path: Path, asked: Asked = NOTHING) -> Model:
    """The network in a `.keras`, `.h5` or `.json` file, and the training that it was compiled for.

    Raises:
        InputError: what it is, where, and the way out; lambda layers and custom objects are refused with their names.
        MissingExtra: h5py is not here.
    """
    config = configuration(path)
    check(config, path.name)
    try:
        return _Reader(path.name, asked).read(config)
    except InputError as error:
        said = str(error)
        raise InputError(said if said.startswith(path.name) else f"{path.name}: {said}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise InputError(f"{path.name}: not as Keras writes a model ({type(error).__name__}: {str(error)[:100]})") from None


class _Reader:
    """Reads one file: what is known of the values read so far, and what is to be said."""

    def __init__(self, file: str, asked: Asked) -> None:
        self.file, self.asked = file, asked
        self.layers: list[Layer] = []
        self.notes: list[str] = []
        self.shapes: dict[str, Axes] = {}
        self.masks: dict[str, str] = {}
        self.names: dict[Reference, str] = {}
        self.owners: dict[str, str] = {}
        self.steps: dict[str, int | None] = {}
        self.open: set[str] = set()
        self.batch: int | None = None

    def read(self, config: dict[str, Any]) -> Model:  # Any: JSON
        """The model."""
        whole = connected(config)
        words = _words(whole)
        for call in whole.calls:
            try:
                self._input(call, words) if call.kind == "InputLayer" else self._call(call)
            except InputError as error:
                raise InputError(f"{self.file}: layer {call.path!r} ({call.kind}): {error}") from None
        unused(self.asked.sizes(), self.open)
        last = self._output(self.names[whole.output])
        made = training(config.get("compile_config"), last, self.asked, self.notes)
        if self.batch is not None and self.asked.batch is None:
            made = replace(made, batch=self.batch)
        elif self.asked.batch is None:
            self.notes.append(
                f"A Keras file does not say the batch size; {made.batch} stands in (Keras's own), --batch says another."
            )
        network = checked(self.layers, self.steps)
        return Model(network, replace(made, place=Place(self.file, 1)), None, tuple(dict.fromkeys(self.notes)))

    def _add(self, name: str, kind: Any, reads: tuple[str, ...], shape: Axes, said: str) -> str:  # Any: a kind of layer
        self.layers.append(Layer(name, kind, reads, Place(self.file, len(self.layers) + 1, said)))
        self.shapes[name] = shape
        return name

    def _input(self, call: Called, words: dict[str, int | None]) -> None:
        given = plain(call.config.get("batch_shape") or call.config.get("batch_input_shape"))
        if not isinstance(given, list) or not given:
            raise InputError("its shape is not known")
        shape = tuple(self._size(call.path, axis, size) for axis, size in enumerate(given[1:], 1))
        if isinstance(given[0], int):
            self.batch = given[0]
        rows = words.get(call.path)
        kind = _input_kind(shape, rows)
        self.steps[call.path] = shape[0] if kind.sequence else None
        self.names[(call.path, 0)] = self._add(call.path, kind, (), shape, f"{call.path}: {'×'.join(map(str, shape))}")

    def _size(self, path: str, axis: int, size: Any) -> int:  # Any: JSON
        if size is None:
            name = f"{path}.{axis}"
            self.open.add(name)
            found = self.asked.sizes().get(name, self.asked.length)
            if found is None:
                raise InputError(f"the size of axis {axis} is left open: say it with --length N, or --data {name}=N")
            return found
        if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < 2**31:
            raise InputError(f"the size {str(size)[:40]} of axis {axis} is none")
        return size

    def _call(self, call: Called) -> None:
        reads = tuple(self.names[r] for r in call.reads if not isinstance(r, float))
        fed = tuple(self.shapes[name] for name in reads)
        if not fed:
            raise InputError("nothing goes in")
        mask = self.masks.get(reads[0])
        piece, takes_mask = self._piece(call, fed, mask)
        name = call.path if call.path not in self.owners else f"{call.path} {call.node}"
        shares = self.owners.get(call.path) if piece.makes else None
        self.owners.setdefault(call.path, name)
        if (policy := _policy(call.config.get("dtype"))) != "float32":
            self.notes.append(f"The file computes in {policy}; the step that is priced computes in float32.")
        if any(call.config.get(key) for key in _REGULARISERS):
            self.notes.append("Regularisers of single layers are left out of the step.")
        inputs = (*reads, mask) if takes_mask and mask else reads
        self._add(name, piece.kind(last=True, shares=shares), inputs, piece.shape, f"{call.path} ({call.kind})")
        self.names[(call.path, call.node)] = name
        self._mask(call, name, reads, mask)

    def _piece(self, call: Called, fed: tuple[Axes, ...], mask: str | None) -> tuple[Piece, bool]:
        """What a call becomes, and whether the mask is its last input."""
        if call.kind.startswith("ops."):
            return _operation(call, fed), False
        at = At(call.kind, call.path, {**call.config, **_known(call.options)}, fed, mask is not None, self.notes)
        if call.kind == "Bidirectional":
            inner = _wrapped(call.config.get("layer"), at)
            backward = call.config.get("backward_layer")
            return recurrence.bidirectional(at, inner, _wrapped(backward, at) if backward else None), mask is not None
        if call.kind == "TimeDistributed":
            return _each_step(_wrapped(call.config.get("layer"), at, fed[0][1:]), fed[0]), False
        found = LAYERS.get(call.kind)
        if found is None:
            raise InputError("no layer that is read is called so")
        takes = call.kind in recurrence.CELLS or call.kind == "GlobalAveragePooling1D"
        return found(at), takes

    def _mask(self, call: Called, name: str, reads: tuple[str, ...], mask: str | None) -> None:
        """The mask of what a call gives: made, handed on, or taken off."""
        if call.kind == "Embedding" and call.config.get("mask_zero"):
            self.masks[name] = self._add(f"{name} mask", Computed("$0 != 0", self.shapes[reads[0]], last=True), reads,
                                         self.shapes[reads[0]], name)  # fmt: skip
        elif call.kind == "Masking":
            value = number(float(call.config.get("mask_value", 0.0)))
            shape = self.shapes[reads[0]][:-1]
            kind = Computed(f"($0 != {value}).any(-1)", shape, last=True)
            self.masks[name] = self._add(f"{name} mask", kind, reads, shape, name)
        elif mask is not None and len(self.shapes[name]) > 1 and call.kind in (*MASK_PASSES, "Bidirectional", "TimeDistributed"):
            self.masks[name] = mask
        elif any(self.masks.get(one) for one in reads) and mask is None:
            self.notes.append(f"{call.kind} {call.path!r}: the masks of its inputs are left out.")

    def _output(self, name: str) -> str:
        """Puts the last activation on its own, where a loss may take it in; masks that nobody reads go."""
        read = {one for layer in self.layers for one in layer.inputs}
        unread = {*self.masks.values()} - read
        self.layers = [one for one in self.layers if one.name not in unread]
        at = next(i for i, layer in enumerate(self.layers) if layer.name == name)
        layer = self.layers[at]
        assert isinstance(layer.kind, Computed | Input)
        shape = self.shapes[name]
        kind = layer.kind
        found = "linear"
        if isinstance(kind, Computed):
            for word, (start, end) in _ENDINGS.items():
                if kind.calls.startswith(start) and kind.calls.endswith(end):
                    found, kind = word, replace(kind, calls=kind.calls[len(start) : len(kind.calls) - len(end)])
            self.layers[at] = replace(layer, kind=kind)
        if len(shape) > 2:
            moved = Computed("$0.movedim(-1, 1)", (shape[-1], *shape[:-1]))
            name = self._add(f"{name} channels first", moved, (name,), moved.shape, layer.name)
        if found != "linear":
            last = Activation(found)  # type: ignore[arg-type]  # two words of the literal
            self._add(f"{name} {found}", last, (name,), self.shapes[name], layer.name)
        return found


def _policy(value: Any) -> str:  # Any: JSON
    """The type that a layer computes in; layers of whole numbers count as float32, which they do not change."""
    inner = value.get("config") if isinstance(value, dict) else None
    name = str(inner.get("name") if isinstance(inner, dict) else value)[:60]
    return name if "float" in name else "float32"


_ENDINGS = {"softmax": ("F.softmax(", ", -1)"), "sigmoid": ("torch.sigmoid(", ")")}


def _input_kind(shape: Axes, rows: int | None) -> Input:
    if rows is not None and len(shape) <= 1:
        return Input(1, (), sequence=True, words=rows) if shape else Input(1, words=rows)
    if len(shape) <= 1:
        return Input(shape[0] if shape else 1)
    if len(shape) == 2:
        return Input(shape[1], (), sequence=True)
    return Input(shape[-1], shape[:-1], last=True)


def _words(whole: Connected) -> dict[str, int | None]:
    """Inputs that an embedding reads hold whole numbers, as many as the smallest table has rows."""
    found: dict[str, int | None] = {}
    for call in whole.calls:
        rows = call.config.get("input_dim")
        if call.kind == "Embedding" and isinstance(rows, int):
            for one in call.reads:
                if not isinstance(one, float):
                    found[one[0]] = min(rows, found.get(one[0]) or rows)
    return found


def _known(options: dict[str, Any]) -> dict[str, Any]:  # Any: JSON
    """Arguments of a call that change what is computed."""
    known = {key: value for key, value in options.items() if key in ("use_causal_mask",)}
    for key, value in options.items():
        tensor = isinstance(value, dict) and value.get("class_name") == "__keras_tensor__"
        if key in ("mask", "attention_mask", "initial_state", "return_attention_scores") and value not in (None, False):
            raise InputError(f"it is called with {key}, which is not understood")
        if not tensor and key not in (*known, "training", "return_attention_scores", "mask", "query", "value", "key"):
            raise InputError(f"it is called with {key}={str(value)[:40]}, which is not understood")
    return known


def _wrapped(value: Any, at: At, fed: Axes | None = None) -> At:  # Any: JSON
    if not isinstance(value, dict) or not isinstance(value.get("config"), dict):
        raise at.wrong("layer")
    kind = str(value.get("class_name"))
    if kind not in LAYERS or (at.kind == "Bidirectional" and kind not in ("LSTM", "GRU", "SimpleRNN")):
        raise InputError(f"around {kind[:60]!r}, which is not understood there")
    return At(
        kind,
        str(value["config"].get("name", at.name)),
        value["config"],
        (fed,) if fed is not None else at.fed,
        at.masked,
        at.notes,
    )


def _each_step(inner: At, fed: Axes) -> Piece:
    """A layer at each time step: time is folded into the batch, and unfolded."""
    inner = replace(inner, masked=False)
    piece = LAYERS[inner.kind](inner)
    steps = fed[0]
    text = piece.calls.replace("$0", "$0.flatten(0, 1)")
    products = tuple(replace(p, sizes=tuple((n, s * steps if n == p.batch else s) for n, s in p.sizes)) for p in piece.products)
    return replace(piece, calls=f"({text}).unflatten(0, (-1, {steps}))", shape=(steps, *piece.shape), flops=piece.flops * steps,
                   products=products)  # fmt: skip


_OPERATIONS = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "TrueDivide": "/"}
_FUNCTIONS = {
    "Relu": "F.relu", "Tanh": "torch.tanh", "Sigmoid": "torch.sigmoid", "Exp": "torch.exp", "Absolute": "torch.abs",
    "Sqrt": "torch.sqrt", "Square": "torch.square", "Silu": "F.silu", "Negative": "torch.neg", "Softplus": "F.softplus",
}  # fmt: skip


def _operation(call: Called, fed: tuple[Axes, ...]) -> Piece:
    """An operation of keras.ops between layers (`x + y`)."""
    kind = call.kind.removeprefix("ops.")
    if kind in _FUNCTIONS and len(call.reads) == 1:
        return Piece(f"{_FUNCTIONS[kind]}($0)", fed[0])
    sign = _OPERATIONS.get(kind)
    if sign is None or len(call.reads) != 2:
        raise InputError("no operation that is read is called so")
    texts, count = [], 0
    for one in call.reads:
        texts.append(number(one) if isinstance(one, float) else f"${count}")
        count += not isinstance(one, float)
    return Piece(f"({f' {sign} '.join(texts)})", spread(fed))
