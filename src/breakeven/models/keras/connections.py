"""How a Keras model's layers are connected: calls of layers, which call of which layer each reads, nested models taken apart.

Reads Keras 3's configurations and those of Keras 2 (`.h5`), whose nodes are lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from breakeven.errors import InputError

#: A value: the layer's path and which of its calls gave it.
Reference = tuple[str, int]
#: Most calls of layers in a model.
MOST = 50_000


@dataclass(frozen=True)
class Called:
    """One call of a layer.

    Attributes:
        path: its name, with those of the models that it is in.
        kind, config: as the file says.
        node: which call of it.
        reads: the values that it reads, in order; a number stands where a constant is an argument.
        options: further arguments of the call.
    """

    path: str
    kind: str
    config: dict[str, Any]  # Any: JSON
    node: int
    reads: tuple[Reference | float, ...]
    options: dict[str, Any]  # Any: JSON


@dataclass(frozen=True)
class Connected:
    """Calls in an order in which each comes after what it reads, and the value that is the output."""

    calls: tuple[Called, ...]
    output: Reference


def connected(model: dict[str, Any], prefix: str = "", fed: tuple[Reference, ...] = (), node: int = 0) -> Connected:  # Any: JSON
    """The calls of a model.

    Args:
        model: its configuration.
        prefix: path of the model that it is in.
        fed: what its inputs read there; none: it has input layers of its own.
        node: which call of it.

    Raises:
        InputError: it is neither sequential nor functional, or is not as Keras writes it.
    """
    kind, config = str(model.get("class_name")), model.get("config")
    layers = config if isinstance(config, list) else config.get("layers") if isinstance(config, dict) else None
    if kind not in ("Sequential", "Functional", "Model") or not isinstance(layers, list):
        raise InputError(f"the model {kind[:60]!r} is defined by a class of its own: its layers are not in the file. "
                         "Sequential and functional models are read")  # fmt: skip
    if not all(isinstance(layer, dict) and isinstance(layer.get("config"), dict) for layer in layers):
        raise InputError("its layers are not as Keras writes them")
    if kind == "Sequential":
        return _sequential(model, layers, prefix, fed, node)
    return _functional(model["config"], layers, prefix, fed, node)


def name_of(layer: dict[str, Any]) -> str:  # Any: JSON
    """A layer's name."""
    name = layer["config"].get("name") or layer.get("name")
    return str(name or layer.get("class_name"))[:100]


def _sequential(
    model: dict[str, Any], layers: list[dict[str, Any]], prefix: str, fed: tuple[Reference, ...], node: int
) -> Connected:  # Any: JSON
    calls: list[Called] = []
    at: Reference | None = fed[0] if fed else None
    for place, layer in enumerate(layers):
        path = prefix + name_of(layer)
        if layer["class_name"] == "InputLayer":
            if at is not None:
                continue
            calls.append(Called(path, "InputLayer", layer["config"], 0, (), {}))
            at = (path, 0)
            continue
        if at is None:
            shape = layer["config"].get("batch_input_shape") or layer.get("build_config", {}).get("input_shape")
            shape = shape or (model["config"].get("build_input_shape") if isinstance(model["config"], dict) else None)
            if shape is None:
                raise InputError("a sequential model without an input shape: build it (or begin with keras.Input) before saving")
            calls.append(Called(f"{prefix}input", "InputLayer", {"batch_shape": shape}, 0, (), {}))
            at = (f"{prefix}input", 0)
        if _nested(layer):
            inner = connected(layer, f"{path}/", (at,), node)
            calls += inner.calls
            at = inner.output
        else:
            calls.append(Called(path, str(layer["class_name"]), layer["config"], node, (at,), {}))
            at = (path, node)
        _check(calls, place)
    if at is None:
        raise InputError("the model has no layers")
    return Connected(tuple(calls), at)


def _check(calls: list[Called], place: int) -> None:
    if len(calls) > MOST:
        raise InputError(f"more than {MOST:,} calls of layers (at layer {place + 1}); it is not read")


def _nested(layer: dict[str, Any]) -> bool:  # Any: JSON
    return str(layer.get("class_name")) in ("Sequential", "Functional", "Model")


def _functional(
    config: dict[str, Any], layers: list[dict[str, Any]], prefix: str, fed: tuple[Reference, ...], node: int
) -> Connected:  # Any: JSON
    inputs = [name for name, _ in _references(config.get("input_layers"))]
    outputs = _references(config.get("output_layers"))
    if len(outputs) != 1:
        raise InputError(f"{len(outputs)} outputs ({', '.join(n for n, _ in outputs)}): a network with one output is understood")
    if fed and len(fed) != len(inputs):
        raise InputError(f"the model {prefix!r} has {len(inputs)} inputs, and {len(fed)} come in")
    known: dict[Reference, Reference] = {}
    calls: list[Called] = []
    waiting = [(layer, number, call) for layer in layers for number, call in enumerate(_nodes(layer))]
    while waiting:
        later = []
        for layer, number, call in waiting:
            name = name_of(layer)
            reads = _reads(call)
            if any(not isinstance(r, float) and r not in known for r in reads):
                later.append((layer, number, call))
                continue
            found = tuple(r if isinstance(r, float) else known[r] for r in reads)
            known[(name, number)] = _add(calls, layer, prefix, found, number + node * MOST, call, fed, inputs)
            _check(calls, 0)
        if len(later) == len(waiting):
            missing = next(r for r in _reads(later[0][2]) if not isinstance(r, float) and r not in known)
            raise InputError(f"layer {name_of(later[0][0])!r} reads {missing[0]!r}, which no layer gives")
        waiting = later
    if outputs[0] not in known:
        raise InputError(f"the output {outputs[0][0]!r} is no layer of the model")
    return Connected(tuple(calls), known[outputs[0]])


def _add(calls: list[Called], layer: dict[str, Any], prefix: str, reads: tuple[Reference | float, ...], node: int, call: Any,
         fed: tuple[Reference, ...], inputs: list[str]) -> Reference:  # fmt: skip  # Any: JSON
    """One call more; what it gives."""
    name = name_of(layer)
    path = prefix + name
    if layer["class_name"] == "InputLayer":
        if fed:
            return fed[inputs.index(name)] if name in inputs else fed[0]
        calls.append(Called(path, "InputLayer", layer["config"], 0, (), {}))
        return (path, 0)
    if _nested(layer):
        plain = tuple(r for r in reads if not isinstance(r, float))
        inner = connected(layer, f"{path}/", plain, node)
        calls.extend(inner.calls)
        return inner.output
    kind = str(layer["class_name"])
    module = str(layer.get("module") or "")
    operation = module.startswith(("keras.src.ops", "keras.ops"))
    calls.append(Called(path, f"ops.{kind}" if operation else kind, layer["config"], node, reads, _options(call)))
    return (path, node)


def _nodes(layer: dict[str, Any]) -> list[Any]:  # Any: JSON
    if layer["class_name"] == "InputLayer":
        return [None]
    nodes = layer.get("inbound_nodes")
    if not isinstance(nodes, list) or len(nodes) > MOST:
        raise InputError(f"layer {name_of(layer)!r}: its connections are not as Keras writes them")
    return nodes


def _options(call: Any) -> dict[str, Any]:  # Any: JSON
    options = call.get("kwargs", {}) if isinstance(call, dict) else {}
    return {k: v for k, v in options.items() if v is not None} if isinstance(options, dict) else {}


def _reads(call: Any) -> tuple[Reference | float, ...]:  # Any: JSON
    """The values that a call reads: its arguments first, then what is given by name."""
    if call is None:
        return ()
    if isinstance(call, dict):
        return (*_tensors(call.get("args")), *_tensors(call.get("kwargs")))
    found: list[Reference | float] = []
    for one in call if isinstance(call, list) else []:  # Keras 2: [[name, node, tensor, kwargs], …]
        if not (isinstance(one, list) and len(one) >= 3 and isinstance(one[0], str) and isinstance(one[1], int)):
            raise InputError("connections that are not as Keras writes them")
        if one[2] != 0:
            raise InputError(f"the second output of {one[0]!r} is read: layers with one output are understood")
        found.append((one[0], one[1]))
        for value in one[3].values() if len(one) > 3 and isinstance(one[3], dict) else ():
            found += _references(value) if isinstance(value, list) else []
    return tuple(found)


def _tensors(value: Any) -> Iterator[Reference | float]:  # Any: JSON
    if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        history = value.get("config", {}).get("keras_history")
        if (
            not isinstance(history, list)
            or len(history) != 3
            or not isinstance(history[0], str)
            or not isinstance(history[1], int)
        ):
            raise InputError("connections that are not as Keras writes them")
        if history[2] != 0:
            raise InputError(f"the second output of {history[0]!r} is read: layers with one output are understood")
        yield (history[0], history[1])
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, list):
        for one in value:
            yield from _tensors(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def _references(value: Any) -> list[Reference]:  # Any: JSON
    """`["name", 0, 0]`, or a list or a dictionary of such."""
    if isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and isinstance(value[1], int):
        return [(value[0], value[1])]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for part in inner for one in _references(part)]
