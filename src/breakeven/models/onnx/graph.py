"""An ONNX file as a graph with every size known: bounded, checked, open sizes bound, shapes inferred. No other file is opened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np

from breakeven.errors import InputError, MissingExtra
from breakeven.foreign import attempt
from breakeven.models.asked import Asked, unused
from breakeven.models.translation import Axes

#: Largest file: that of protobuf.
LARGEST: Final = 2**31 - 1
#: Most nodes of a graph.
NODES: Final = 100_000
#: Samples of a step where the file leaves them open.
BATCH: Final = 32
#: Domains of operators that ONNX itself defines.
OWN: Final = ("", "ai.onnx")
#: Names that exporters give to the size of the batch.
_BATCH_NAMES: Final = ("batch", "n", "b", "bs")


@dataclass(frozen=True)
class Graph:
    """A graph.

    Attributes:
        nodes: in the file's order.
        inputs: name → shape with the batch, and the element type, of what is fed.
        outputs: names.
        constants: stored arrays by name (`TensorProto`).
        shapes: of the values that are known.
        types: element types of values.
        batch: samples of a step.
        opset: version of the operators.
        onnx: the package.
        model: the whole message, its sizes bound.
    """

    nodes: tuple[Any, ...]  # Any: protobuf's messages
    inputs: dict[str, tuple[Axes, int]]
    outputs: tuple[str, ...]
    constants: dict[str, Any]
    shapes: dict[str, Axes]
    types: dict[str, int]
    batch: int
    opset: int
    onnx: Any
    model: Any


def load(path: Path, asked: Asked, notes: list[str]) -> Graph:
    """The graph in a file.

    Raises:
        InputError: no such file, too large, damaged; custom operators, paths that lead out; sizes that are not known.
        MissingExtra: the onnx package is not here.
    """
    try:
        import onnx
    except ModuleNotFoundError as error:
        raise MissingExtra(f"{path}: needs onnx: pip install 'breakeven[onnx]'") from error
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path}: more than 2 GB; it is not read")
    loaded = attempt(lambda: onnx.load(str(path), load_external_data=False))
    if loaded.value is None:
        raise InputError(f"{path}: no ONNX file, or a damaged one ({_line(loaded.error)})")
    model = loaded.value
    if not model.graph.node or not model.graph.output:
        raise InputError(f"{path}: no graph in it")
    _trusted(model, path)
    if model.functions:
        from onnx import inliner

        inlined = attempt(lambda: inliner.inline_local_functions(model))
        if inlined.value is None:
            raise InputError(f"{path}: its functions cannot be put in their places: {_line(inlined.error)}")
        model = inlined.value
    batch = _bound(model, path, asked, notes)
    return _graph(model, path, batch, onnx)


def with_known(graph: Graph, known: dict[str, Any], path: Path) -> Graph:  # Any: arrays
    """The same graph, with the shapes that follow where so many values are known.

    Raises:
        InputError: the shapes do not fit.
    """
    model = graph.onnx.ModelProto()
    model.CopyFrom(graph.model)
    made = {name for node in model.graph.node for name in node.output}
    left = [node for node in model.graph.node if not node.output or node.output[0] not in known]
    del model.graph.node[:]
    model.graph.node.extend(left)
    given = [graph.onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in known.items() if name in made]
    model.graph.initializer.extend(given)
    shapes = _graph(model, path, graph.batch, graph.onnx)
    return replace(graph, shapes={**graph.shapes, **shapes.shapes}, types={**graph.types, **shapes.types})


def _line(error: Exception | None) -> str:
    """The first line of what a library says."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _trusted(model: Any, path: Path) -> None:  # Any: protobuf's messages
    if len(model.graph.node) > NODES:
        raise InputError(f"{path}: {len(model.graph.node):,} nodes; at most {NODES:,} are read")
    functions = {(one.domain, one.name) for one in model.functions}
    for node in (*model.graph.node, *(n for one in model.functions for n in one.node)):
        if node.domain not in OWN and (node.domain, node.op_type) not in functions:
            raise InputError(f"{path}: node {node.name[:60]!r} is {node.domain[:40]}.{node.op_type[:40]}: a custom operator; "
                             "only ONNX's own are read, as no code of a file is run")  # fmt: skip
        for attribute in node.attribute:
            if attribute.HasField("g") or attribute.graphs:
                raise InputError(f"{path}: node {node.name[:60]!r} is {node.op_type[:40]}, which holds graphs of its own: "
                                 "loops and branches are not understood")  # fmt: skip
            for tensor in ([attribute.t] if attribute.HasField("t") else []) + list(attribute.tensors):
                _stored(tensor, path)
    for tensor in model.graph.initializer:
        _stored(tensor, path)
    if model.graph.sparse_initializer:
        raise InputError(f"{path}: sparse weights are not understood")


def _stored(tensor: Any, path: Path) -> None:  # Any: protobuf's message
    """Weights in other files are never opened (sizes are enough), but a path that leads out says that the file is hostile."""
    for entry in tensor.external_data:
        if entry.key != "location":
            continue
        place = PurePosixPath(entry.value.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in entry.value:
            raise InputError(f"{path}: the weights {tensor.name[:60]!r} are said to be in {entry.value[:80]!r}, outside the "
                             "folder of the file; it is not read")  # fmt: skip
    if any(size < 0 or size >= 2**31 for size in tensor.dims):
        raise InputError(f"{path}: the weights {tensor.name[:60]!r} have an impossible size")


def _bound(model: Any, path: Path, asked: Asked, notes: list[str]) -> int:  # Any: protobuf's messages
    """Gives every open size of the inputs its number; returns the batch."""
    stored = {one.name for one in model.graph.initializer}
    said = asked.sizes()
    known: dict[str, int] = {}
    batch = None
    for value in model.graph.input:
        if value.name in stored:
            continue
        for axis, size in enumerate(value.type.tensor_type.shape.dim):
            if size.HasField("dim_value") and size.dim_value > 0:
                number = int(size.dim_value)
            else:
                name = size.dim_param or f"{value.name}.{axis}"
                number = known[name] if name in known else _open(path, name, axis, said, asked, notes)
                known[name] = number
                size.ClearField("dim_param")
                size.dim_value = number
            if axis == 0:
                if batch is not None and batch != number:
                    raise InputError(f"{path}: input {value.name[:60]!r} has {number} samples, another {batch}: the first axis "
                                     "has to be the batch")  # fmt: skip
                batch = number
    unused(said, known)
    if batch is None:
        raise InputError(f"{path}: no input with a batch")
    if asked.batch is not None and batch != asked.batch:
        raise InputError(f"{path}: --batch {asked.batch}: the file says {batch} itself")
    for value in (*model.graph.output, *model.graph.value_info):
        for size in value.type.tensor_type.shape.dim:
            if size.HasField("dim_param"):
                size.ClearField("dim_param")  # inferred anew, with the numbers
    del model.graph.value_info[:]
    return batch


def _open(path: Path, name: str, axis: int, said: dict[str, int], asked: Asked, notes: list[str]) -> int:
    if name in said:
        return said[name]
    if axis == 0:
        if asked.batch is None:
            notes.append(f"The file leaves the batch ({name}) open; {BATCH} stands in, --batch says another.")
        return asked.batch or BATCH
    if asked.length is not None:
        return asked.length
    raise InputError(f"{path}: the size {name!r} of axis {axis} is left open: say it with --data {name}=N, or --length N")


def _graph(model: Any, path: Path, batch: int, onnx: Any) -> Graph:  # Any: protobuf's messages and a package without types
    inferred = attempt(lambda: onnx.shape_inference.infer_shapes(model, data_prop=True))
    if inferred.value is None:
        raise InputError(f"{path}: its shapes do not fit: {_line(inferred.error)}")
    graph = inferred.value.graph
    shapes: dict[str, Axes] = {}
    types: dict[str, int] = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        kind = value.type.tensor_type
        types[value.name] = kind.elem_type
        if kind.HasField("shape") and all(size.HasField("dim_value") for size in kind.shape.dim):
            shapes[value.name] = tuple(int(size.dim_value) for size in kind.shape.dim)
    opset = next((int(one.version) for one in model.opset_import if one.domain in OWN), 1)
    constants = {one.name: one for one in graph.initializer}
    for one in graph.initializer:
        shapes[one.name], types[one.name] = tuple(one.dims), one.data_type
    inputs = {
        v.name: (shapes[v.name], v.type.tensor_type.elem_type)
        for v in graph.input
        if v.name not in constants and v.name in shapes
    }
    return Graph(
        tuple(graph.node), inputs, tuple(v.name for v in graph.output), constants, shapes, types, batch, opset, onnx, model
    )
