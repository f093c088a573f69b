"""Reads a MATLAB training script into a description: which network, which options, which sizes of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from breakeven.errors import InputError, MissingExtra
from breakeven.models.check import checked
from breakeven.models.kinds import Activation, Attention, Dense, Embedding, Flatten, Input, Merge, Positions, Recurrent
from breakeven.models.matlab.feed import feed_of
from breakeven.models.matlab.graph import described
from breakeven.models.matlab.values import Graph, Handle, Made, Options, Unknown, Value
from breakeven.models.network import Layer, Model, Network, Place, Training

#: Losses of trainnet.
_LOSSES = {
    "crossentropy": "cross_entropy", "index-crossentropy": "cross_entropy", "binary-crossentropy": "binary_cross_entropy",
    "mse": "half_squares", "mean-squared-error": "half_squares", "l2loss": "half_squares", "mae": "absolute",
    "mean-absolute-error": "absolute", "l1loss": "absolute", "huber": "huber",
}  # fmt: skip


def read(path: Path, given: Mapping[str, Value] | None = None) -> Model:
    """The network and the training of a script.

    Args:
        path: a `.m` file.
        given: sizes of variables that the script does not say (`data.given`).

    Raises:
        InputError: it cannot be read, or something that a step depends on cannot be known; the message names the line.
        MissingExtra: lark is not installed.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'cannot be read'}") from None
    return read_text(text.decode("utf-8-sig", "replace"), str(path), given)


def read_text(text: str, file: str, given: Mapping[str, Value] | None = None) -> Model:
    """As `read`, of a text; `file` is what messages call it."""
    try:
        from breakeven.models.matlab.evaluate import Evaluator
        from breakeven.models.matlab.parse import parse
    except ImportError as error:
        raise MissingExtra(f"{error.name} is needed to read MATLAB: pip install 'breakeven[matlab]'") from None
    try:
        seen = Evaluator(file, text.splitlines(), given or {})
        seen.run(parse(text, file))
        return _model(_training_call(seen, file), seen.given)
    except RecursionError:
        raise InputError(f"{file}: expressions are nested too deep to be read") from None


@dataclass(frozen=True)
class _Call:
    """What a call that trains is given."""

    graph: Graph
    options: Options
    loss: Value | None
    data: Sequence[tuple[str, Value]]
    place: Place


def _training_call(seen: Any, file: str) -> _Call:  # Any: the evaluator, whose module brings lark along
    if not seen.trained:
        if seen.own_loop is not None:
            raise InputError(f"{seen.own_loop}: a training loop of one's own is not read; trainNetwork and trainnet are")
        graphs = [v for v in seen.variables.values() if isinstance(v, Graph)]
        said = [v for v in seen.variables.values() if isinstance(v, Options)]
        if len(graphs) == 1 and len(said) == 1:
            return _Call(graphs[0], said[0], None, (), said[0].training.place or Place(file, 1))
        unknown = next((v for v in seen.variables.values() if isinstance(v, Unknown) and "layer that is not" in v.reason), None)
        if unknown is not None:
            raise unknown.error("the network")
        raise InputError(f"{file}: no trainNetwork or trainnet, and not one network with one trainingOptions")
    call = seen.trained[0]
    values, names = list(call.values), list(call.names)
    options = values.pop() if values else None
    loss = values.pop() if call.function == "trainnet" and values else None
    network = values.pop() if values else None
    for value, what in ((options, "the training's options"), (network, "the network")):
        if isinstance(value, Unknown):
            raise InputError(f"{call.place}: {what} cannot be read: {value.reason} ({value.place})")
    if not isinstance(options, Options) or not isinstance(network, Graph):
        raise InputError(f"{call.place}: {call.function} takes data, layers and options; here they are not in these places")
    return _Call(network, options, loss, tuple(zip(names, values, strict=False)), call.place)


def _model(call: _Call, given: Mapping[str, Value]) -> Model:
    layers, output = described(call.graph)
    inputs = [layer for layer in layers if isinstance(layer.kind, Input)]
    if not inputs:
        raise InputError(f"{call.place}: the network has no input layer: nothing says what goes in")
    feeds = {layer.name: feed_of(layer, at, call.data, given, call.place) for at, layer in enumerate(inputs)}
    network = checked([_located(layer, layers) for layer in layers], {name: feed.steps for name, feed in feeds.items()})
    loss = _loss(call, output, network)
    training: Training = replace(call.options.training, loss=loss, place=call.place)
    observations = next((feed.observations for feed in feeds.values() if feed.observations), None)
    notes = [*call.options.notes, *(note for feed in feeds.values() for note in feed.notes)]
    if not observations:
        notes.append(f"{call.place}: how many observations there are is not known: four mini-batches are made up.")
    return Model(network, training, observations, tuple(notes))


def _located(layer: Layer, layers: Sequence[Layer]) -> Layer:
    """MATLAB counts the dimensions of a concatenation from its sizes: those of space, then channels."""
    if not isinstance(layer.kind, Merge) or layer.kind.axis is None:
        return layer
    spatial = _spatial_dimensions(layer.inputs[0], {one.name: one for one in layers}, 0)
    at = layer.kind.axis
    if at > spatial:
        raise InputError(
            f"{layer.place}: layer {layer.name!r} joins along dimension {at + 1}, which is neither space nor channels"
        )
    return replace(layer, kind=replace(layer.kind, axis=None if at == spatial else at))


def _spatial_dimensions(name: str, layers: Mapping[str, Layer], depth: int) -> int:
    """How many dimensions of space a layer's output has, by the input layer that it goes back to."""
    layer = layers[name]
    if isinstance(layer.kind, Input):
        return len(layer.kind.spatial)
    if isinstance(layer.kind, Dense | Flatten | Recurrent | Embedding | Positions | Attention) or depth > len(layers):
        return 0
    return _spatial_dimensions(layer.inputs[0], layers, depth + 1) if layer.inputs else 0


def _loss(call: _Call, output: Made | None, network: Network) -> Any:  # Any: one of the literal's words
    if call.loss is not None:
        if isinstance(call.loss, Handle) and call.loss.call is None and call.loss.name.lower() in _LOSSES:
            return _LOSSES[call.loss.name.lower()]
        if isinstance(call.loss, str) and call.loss.lower() in _LOSSES:
            return _LOSSES[call.loss.lower()]
        known = ", ".join(sorted(set(_LOSSES)))
        raise InputError(f"{call.place}: the loss is a function of one's own, or not known; understood are {known}")
    if output is not None:
        return output.loss
    last = network.layers[-1].kind
    if isinstance(last, Activation) and last.function == "softmax":
        return "cross_entropy"
    raise InputError(
        f"{call.place}: no output layer and no loss: add classificationLayer, regressionLayer, or train with trainnet"
    )
