"""What operations on tensors give: device, type, graph, and whether shapes vary; and what happens on the way."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from breakeven.lint.reading.state import State, tags, tensors
from breakeven.lint.reading.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Const,
    Device,
    Number,
    Reading,
    Ref,
    Remainder,
    Tensor,
    Value,
    graph,
)

FLOAT64 = "float64"
_DTYPES = {
    "double": FLOAT64,
    "float64": FLOAT64,
    "float": "float32",
    "float32": "float32",
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int64": "int64",
    "int": "int32",
    "int32": "int32",
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int8",
    "short": "int16",
    "int16": "int16",
    "byte": "uint8",
    "float_": FLOAT64,
}
_WHOLE = {"int64", "int32", "int16", "int8", "uint8", "bool"}
#: Operations without a gradient: what they give has no graph.
FLAT = {
    "argmax",
    "argmin",
    "argsort",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "isnan",
    "isinf",
    "isfinite",
    "sign",
    "any",
    "all",
    "detach",
    "detach_",
    "logical_and",
    "logical_or",
    "logical_not",
    "zeros_like",
    "ones_like",
    "rand_like",
    "randn_like",
    "empty_like",
    "full_like",
    "randint_like",
    "bincount",
    "searchsorted",
    "bucketize",
    "one_hot",
    "multinomial",
    "bernoulli",
    "round",
    "floor",
}
TRUTH = {
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "any",
    "all",
}
#: Operations that hold the host up until the device has counted.
COUNTING = {"nonzero", "masked_select", "unique", "unique_consecutive", "equal", "allclose", "argwhere"}
REDUCTIONS = {"sum", "mean", "std", "var", "norm", "max", "min", "prod", "median", "any", "all", "logsumexp", "amax", "amin"}
ACTIVATIONS = {"sigmoid", "tanh", "relu", "sigmoid_", "tanh_", "relu_"}
PRODUCTS = {"matmul", "mm", "linear", "addmm", "bmm", "einsum", "mv", "baddbmm"}
HEAVY = PRODUCTS | {"conv1d", "conv2d", "conv3d", "cross_entropy", "mse_loss", "softmax", "scaled_dot_product_attention"}


def device_of(value: object) -> str | None:
    """The kind of device that a value names; None where it is not known."""
    if isinstance(value, Device):
        return value.kind
    if isinstance(value, Const) and isinstance(value.value, str):
        kind = value.value.partition(":")[0]
        return kind if kind in ("cpu", "cuda", "mps", "xpu", "meta") else None
    if isinstance(value, Const) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return "cuda"
    if isinstance(value, Number):
        return "cuda"
    return None


def dtype_of(value: object) -> str | None:
    """The element type that a value names: `torch.float64`, `np.float32`, `float`, "float64"."""
    if isinstance(value, Ref):
        root, _, last = value.path.rpartition(".")
        if root == "builtins":
            return FLOAT64 if last == "float" else _DTYPES.get(last)
        return _DTYPES.get(last) if root in ("torch", "numpy") else None
    if isinstance(value, Const) and isinstance(value.value, str):
        return _DTYPES.get(value.value.removeprefix("torch."))
    return None


def made(
    state: State,
    node: ast.AST,
    options: dict[str, object],
    args: Sequence[object],
    *,
    like: Tensor | None = None,
    random: bool = True,
) -> Tensor:
    """A new tensor of a factory such as `torch.zeros`."""
    line = getattr(node, "lineno", 0)
    named = options.get("device")
    if named is not None:
        device = device_of(named)
    elif like is not None:
        device = like.device
    else:
        device = state.default_device or "cpu"
    dtype = dtype_of(options["dtype"]) if "dtype" in options else (like.dtype if like else None)
    if dtype is None and state.double and like is None:
        dtype = FLOAT64
    on_host = device == "cpu" and random and like is None
    tensor = Tensor(
        device=device,
        dtype=dtype,
        scalar=bool(args) and isinstance(args[0], Box) and args[0].items == [],
        factory=line if on_host else 0,
        made_in=state.open_loops(),
        double_line=(state.double or line) if dtype == FLOAT64 else 0,
        born=line,
        varies=any(varies(a) for a in args) or bool(like and like.varies),
        mask=dtype == "bool",
        ids=NOTHING,
    )
    if named is not None and device != "cpu" and not random:
        state.note("made_from_host", node, tensor)
    return tensor


def varies(value: object) -> bool:
    """Whether a size is drawn anew each time."""
    if isinstance(value, Number):
        return value.varies
    if isinstance(value, Remainder):
        return True
    if isinstance(value, Box):
        return any(varies(item) for item in (*(value.items or ()), value.element))
    return False


def combine(state: State, name: str, node: ast.AST, values: Sequence[object]) -> Tensor:
    """What an operation on several tensors gives."""
    found = tensors(*values)
    check_devices(state, name, node, found)
    devices = {t.device for t in found if not t.scalar} or {t.device for t in found}
    device = "cuda" if "cuda" in devices else next(iter(devices)) if len(devices) == 1 else None
    out_of_nothing = bool(found) and all(t.factory for t in found)
    doubles = [t for t in found if t.double_line and not t.scalar]
    base = found[0] if found else Tensor()
    reached = NOTHING
    if state.grad and name not in FLAT:
        for value in values:
            reached |= graph(value)
    result = Tensor(
        ids=reached,
        tags=tags(*values),
        device=device,
        dtype="bool" if name in TRUTH else FLOAT64 if doubles else base.dtype,
        scalar=bool(found) and all(t.scalar for t in found),
        numpy=bool(found) and all(t.numpy for t in found),
        double_line=doubles[0].double_line if doubles and name not in TRUTH else 0,
        born=getattr(node, "lineno", 0),
        varies=any(t.varies for t in found),
        factory=found[0].factory if out_of_nothing else 0,
        made_in=found[0].made_in if out_of_nothing else NOTHING,
        ones=frozenset.intersection(*(t.ones for t in found if not t.scalar)) if any(not t.scalar for t in found) else NOTHING,
        gradient=any(t.gradient for t in found),
        mask=name in TRUTH or (name in ("invert", "and", "or", "xor") and base.mask),
    )
    if doubles and device != "cpu" and state.loops and (reached or state.forward_depth):
        for tensor in doubles:
            note_double(state, node, tensor)
    if result.tags and (name in ACTIVATIONS or name in PRODUCTS):
        result = note_recurrence(state, name, node, found, result)
    if name in HEAVY and device != "cpu" and not result.numpy:
        state.launched()
    return result


def note_recurrence(state: State, name: str, node: ast.AST, found: list[Tensor], result: Tensor) -> Tensor:
    """An activation or a product inside a loop that may be one over time."""
    kind = "activation" if name in ACTIVATIONS else "product"
    source = next((t for t in found if t.tags), result)
    whole = source if source.tags == result.tags else replace(source, tags=result.tags, origin=0)
    event = state.note(kind, node, whole, name=name.rstrip("_"))
    return replace(result, origin=event) if kind == "activation" else result


def note_double(state: State, node: ast.AST, value: Tensor) -> None:
    """Arithmetic in float64, once for each place where the type came from and each loop."""
    key = (value.double_line, id(state.loops[-1]))
    if key not in state.doubles:
        state.doubles.add(key)
        state.note("double", node, value)


def check_devices(state: State, name: str, node: ast.AST, found: Sequence[Tensor]) -> None:
    """Notes a tensor that surely lies on the host and meets one that surely lies on the device."""
    if name in ("copy_", "to", "type_as"):
        return
    host = [t for t in found if t.device == "cpu" and not t.scalar and not t.numpy]
    if host and any(t.device == "cuda" for t in found):
        state.note("mismatch", node, host[0], name=name)


def reduced(state: State, name: str, node: ast.AST, tensor: Tensor, args: Sequence[object], options: dict[str, object]) -> object:
    """Reductions: over everything they give a tensor without dimensions, over one a tensor (and the places)."""
    over = [a for a in args if not (name == "norm" and a is args[0])]
    result = combine(state, name, node, [tensor])
    if not over and not {"dim", "axis"} & set(options):
        return replace(result, scalar=True, ones=NOTHING, varies=False)
    if name in ("max", "min", "median") and over and not tensors(*over):
        return Box("tuple", [result, replace(result, ids=NOTHING, dtype="int64")])
    return result


def converted(state: State, tensor: Tensor, dtype: str | None, node: ast.AST) -> Tensor:
    """A tensor in another type."""
    if dtype is None:
        return tensor
    line = getattr(node, "lineno", 0)
    return replace(
        tensor,
        dtype=dtype,
        double_line=(tensor.double_line or line) if dtype == FLOAT64 else 0,
        mask=dtype == "bool",
        ids=NOTHING if dtype in _WHOLE or not state.grad else tensor.ids,
    )


def moved(state: State, tensor: Tensor, device: str | None, node: ast.AST) -> Tensor:
    """A tensor on another device, or on one that is not known."""
    line = getattr(node, "lineno", 0)
    if device == "cpu":
        if tensor.device != "cpu" and not tensor.numpy:
            state.note("to_host", node, tensor)
            state.synchronised()
        return replace(tensor, device="cpu", moved=0, factory=0, origin=0)
    if tensor.device == "cuda" and device in ("cuda", None):
        return tensor
    if tensor.device == "cpu":
        state.note("to_device", node, tensor)
    return replace(tensor, device=device, moved=line if tensor.device == "cpu" else 0, factory=0, born=line, origin=0)


def read(state: State, kind: str, node: ast.AST, tensor: Tensor, name: str = "") -> Value:
    """The host reads a value of a tensor, and waits for the device."""
    if tensor.factory and name != "range":  # drawn anew: `torch.randint(10, (1,)).item()`
        return Number(terms=((state.symbol(), 1),), tags=tensor.tags)
    if tensor.device == "cpu" or tensor.numpy:
        return Reading(tags=tensor.tags)
    state.note(kind, node, tensor, name=name)
    state.synchronised()
    return Reading(tags=tensor.tags)


def look(state: State, kind: str, node: ast.AST, *values: object) -> None:
    """Something is shown: tensors among it are read."""
    for tensor in tensors(*values)[:1]:
        read(state, kind, node, tensor)


def index_of(value: object) -> int | None:
    """A small whole number that is known."""
    if isinstance(value, Const) and isinstance(value.value, int):
        return value.value
    if isinstance(value, Number) and not value.terms:
        return value.constant
    return None


def unknown(*values: object) -> Value:
    """Something of which only the graphs and loops behind it are known."""
    found = NOTHING
    for value in values:
        found |= graph(value)
    seen = tags(*values)
    return Value(found, seen) if found or seen else UNKNOWN
