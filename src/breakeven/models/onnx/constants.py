"""What of an ONNX graph is known before it runs: stored arrays that are small, and what follows from them and from shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from breakeven.errors import InputError
from breakeven.models.onnx.fold import MOST, folded
from breakeven.models.onnx.graph import Graph
from breakeven.models.onnx.node import REAL, Array


def known_values(graph: Graph) -> dict[str, Array]:
    """Values by name. What cannot be computed here is left to the graph."""
    helper = graph.onnx.numpy_helper
    known: dict[str, Array] = {}
    for name, tensor in graph.constants.items():
        small = math.prod(tensor.dims) <= (MOST if tensor.data_type not in REAL else 1)
        if small and not tensor.external_data:
            known[name] = helper.to_array(tensor)
    for node in graph.nodes:
        value = _value(node, graph, known)
        if value is not None:
            known[node.output[0]] = value
    return known


def _value(node: Any, graph: Graph, known: dict[str, Array]) -> Array | None:  # Any: protobuf's message
    given = attributes(node, graph)
    if node.op_type == "Constant":
        value = next(iter(given.values()), None)
        return None if value is None else np.asarray(value, np.float32 if isinstance(value, float) else None)
    if node.op_type in ("Shape", "Size") and node.input[0] in graph.shapes:
        shape = graph.shapes[node.input[0]]
        cut = shape[given.get("start", 0) : given.get("end", len(shape))]
        return np.array(cut if node.op_type == "Shape" else math.prod(shape), np.int64)
    if node.input and all(name in known or not name for name in node.input):
        return folded(node.op_type, [known.get(name) for name in node.input], given)
    return None


def attributes(node: Any, graph: Graph) -> dict[str, Any]:  # Any: protobuf's message, whatever it says
    """A node's attributes by name.

    Raises:
        InputError: one is too large, or in another file.
    """
    return {one.name: _attribute(one, graph) for one in node.attribute}


def _attribute(one: Any, graph: Graph) -> Any:  # Any: as above
    value = graph.onnx.helper.get_attribute_value(one)
    if isinstance(value, graph.onnx.TensorProto):
        if value.external_data or math.prod(value.dims) > MOST:
            raise InputError(f"the attribute {one.name[:40]!r} of a node is too large for a constant, or is in another file")
        return graph.onnx.numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, list | tuple) and value and isinstance(value[0], bytes):
        return [one.decode("utf-8", "replace") for one in value]
    return list(value) if not isinstance(value, int | float | str) else value
