"""Layer arrays and layer graphs: put together as MATLAB's functions do, then turned into the layers of a description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from breakeven.errors import InputError
from breakeven.models.kinds import Identity, Input, Merge
from breakeven.models.matlab.arguments import Arguments
from breakeven.models.matlab.values import Graph, Made, Value
from breakeven.models.network import Layer

#: Most layers of a network: some thousands are the most that people train.
MOST = 20_000


def graph_function(a: Arguments) -> Value:
    """layerGraph, dlnetwork, addLayers, connectLayers, disconnectLayers, removeLayers, replaceLayer.

    Raises:
        InputError: an argument is no graph, or names a layer that is not there.
    """
    name = a.function
    if name in ("layerGraph", "dlnetwork"):
        return _graph(a, 0) if a.has(0) else Graph((), chain=False)
    graph = _as_graph(_graph(a, 0))
    if name == "addLayers":
        return _added(graph, _graph(a, 1), a)
    if name in ("connectLayers", "disconnectLayers"):
        ends = (_text(a, 1), _text(a, 2))
        if name == "connectLayers":
            return replace(graph, connections=(*graph.connections, ends))
        return replace(graph, connections=tuple(c for c in graph.connections if tuple(map(_stem, c)) != tuple(map(_stem, ends))))
    gone = a.value(1, "the layer's name")
    names = {gone} if isinstance(gone, str) else {i for i in getattr(gone, "items", ()) if isinstance(i, str)}
    if not names <= {layer.name for layer in graph.layers}:
        raise a.wrong(f"no layer is called {', '.join(sorted(names)) or 'so'}")
    if name == "removeLayers":
        kept = tuple(layer for layer in graph.layers if layer.name not in names)
        left = tuple(c for c in graph.connections if _stem(c[0]) not in names and _stem(c[1]) not in names)
        return replace(graph, layers=kept, connections=left)
    return _replaced(graph, names.pop(), _graph(a, 2), a)


def _graph(a: Arguments, at: int) -> Graph:
    value = a.value(at, "a network")
    if not isinstance(value, Graph):
        raise a.wrong("takes layers or a network")
    return value


def _text(a: Arguments, at: int) -> str:
    value = a.value(at, "the layer's name")
    if not isinstance(value, str):
        raise a.wrong("a layer's name has to be a text")
    return value


def _stem(end: str) -> str:
    return end.partition("/")[0]


def _as_graph(graph: Graph) -> Graph:
    """A chain with its connections written out."""
    if not graph.chain:
        return graph
    layers = named(graph.layers)
    joined = tuple((a.name, b.name) for a, b in pairwise(layers))
    return replace(graph, layers=layers, connections=joined, chain=False)


def _added(graph: Graph, further: Graph, a: Arguments) -> Graph:
    added = _as_graph(Graph(further.layers) if further.chain else further)
    if len(graph.layers) + len(added.layers) > MOST:
        raise a.wrong(f"more than {MOST} layers")
    taken = {layer.name for layer in graph.layers}
    twice = [layer.name for layer in added.layers if layer.name in taken]
    if twice:
        raise a.wrong(f"a second layer is called {twice[0]!r}: give it a name of its own")
    return replace(graph, layers=(*graph.layers, *added.layers), connections=(*graph.connections, *added.connections))


def _replaced(graph: Graph, gone: str, by: Graph, a: Arguments) -> Graph:
    new = _as_graph(Graph(by.layers))
    if not new.layers:
        raise a.wrong("a layer is replaced by none")
    at = [layer.name for layer in graph.layers].index(gone)
    layers = (*graph.layers[:at], *new.layers, *graph.layers[at + 1 :])
    first, last = new.layers[0].name, new.layers[-1].name
    moved = tuple((last if s == gone else s, first if d == gone else d) for s, d in graph.connections)
    return replace(graph, layers=layers, connections=(*moved, *new.connections))


def named(layers: Sequence[Made]) -> tuple[Made, ...]:
    """Layers without a name get MATLAB's: the family's, numbered where there are several of it."""
    counts: dict[str, int] = {}
    for layer in layers:
        if not layer.name:
            counts[layer.family] = counts.get(layer.family, 0) + 1
    taken = {layer.name for layer in layers if layer.name}
    at: dict[str, int] = {}
    result = []
    for layer in layers:
        if not layer.name:
            at[layer.family] = at.get(layer.family, 0) + 1
            name = layer.family if counts[layer.family] == 1 else f"{layer.family}_{at[layer.family]}"
            while name in taken:
                name += "_"
            layer = replace(layer, name=name)
        result.append(layer)
    return tuple(result)


def described(graph: Graph) -> tuple[tuple[Layer, ...], Made | None]:
    """The layers of a description, and the output layer if there is one.

    Raises:
        InputError: a connection leads nowhere, an input of a layer is missing or taken twice, more than one output layer.
    """
    graph = _as_graph(graph)
    named_layers = {layer.name: layer for layer in graph.layers}
    outputs = [layer for layer in graph.layers if layer.kind is None]
    if len(outputs) > 1:
        raise InputError(f"{outputs[1].place}: a second output layer, beside the one of {outputs[0].place}: one is understood")
    fed: dict[str, dict[str, str]] = {name: {} for name in named_layers}
    for source, target in graph.connections:
        _connect(named_layers, fed, source, target)
    layers = []
    for layer in graph.layers:
        if layer.kind is not None:
            layers.append(_layer(layer, fed[layer.name], named_layers))
    return tuple(layers), outputs[0] if outputs else None


def _connect(layers: dict[str, Made], fed: dict[str, dict[str, str]], source: str, target: str) -> None:
    for end in (source, target):
        if _stem(end) not in layers:
            raise InputError(f"connectLayers: no layer is called {_stem(end)!r}")
    if source.endswith("/miniBatchSize") or target.endswith("/miniBatchSize"):
        return  # folding and unfolding hand each other a number, no data
    place = layers[_stem(target)].place
    if "/" in source and not source.endswith("/out"):
        raise InputError(f"{place}: the output {source!r} is not understood")
    name, _, port = target.partition("/")
    ports = fed[name]
    wanted = layers[name].ports
    if not port:
        free = [p for p in wanted if p not in ports] if wanted else ["in"]
        port = free[0] if free else "in"
    if port in ports:
        raise InputError(f"{place}: two layers are connected to {name}/{port}")
    if port not in (wanted or ("in",)):
        raise InputError(f"{place}: layer {name!r} has no input {port!r}; it has {', '.join(wanted or ('in',))}")
    ports[port] = _stem(source)


def _layer(layer: Made, fed: dict[str, str], layers: dict[str, Made]) -> Layer:
    kind = layer.kind
    assert kind is not None
    if not isinstance(kind, Input):
        missing = [port for port in (layer.ports or ("in",)) if port not in fed]
        if missing:
            raise InputError(f"{layer.place}: nothing is connected to {layer.name}/{missing[0]}")
    inputs = tuple(fed[port] for port in (layer.ports or ("in",)) if port in fed)
    if any(layers[name].kind is None for name in inputs):
        raise InputError(f"{layer.place}: layer {layer.name!r} reads an output layer")
    if isinstance(kind, Merge) and kind.how == "concatenate" and len(inputs) == 1:
        kind = Identity()
    return Layer(layer.name, kind, inputs, layer.place)
