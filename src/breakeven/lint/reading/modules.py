"""Instances of `torch.nn` modules and of the user's own: where their parameters lie, and what calling them gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from msgspec.structs import replace

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import State, tags, tensors
from breakeven.lint.reading.values import NOTHING, UNKNOWN, Box, Class, Const, Device, Tensor, Thing, Value

NN = "torch.nn."
RECURRENT = {"RNN", "LSTM", "GRU"}
CELLS = {"RNNCell", "LSTMCell", "GRUCell"}
_LISTS = {"ModuleList", "Sequential", "ModuleDict"}
_CONVOLUTIONS = {"Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"}
_ACTIVATIONS = {"Sigmoid": "sigmoid", "Tanh": "tanh", "ReLU": "relu"}
_DISTURBING = {"Dropout", "LayerNorm", "BatchNorm1d", "GroupNorm", "RMSNorm"}


def made(state: State, path: str, args: list[object], options: dict[str, object], node: ast.AST) -> Thing:
    """A new module of the library."""
    device = ops.device_of(options["device"]) if "device" in options else state.default_device or "cpu"
    double = ops.dtype_of(options.get("dtype")) == ops.FLOAT64
    line = getattr(node, "lineno", 0)
    double_line = line if double else state.double
    return Thing(path, None, {}, args, options, device, module=True, line=line, double_line=double_line)


def is_module(cls: Class) -> bool:
    """Whether a class of the file is a module, as far as its bases say."""
    for base in cls.bases:
        if isinstance(base, Class):
            if is_module(base):
                return True
        elif isinstance(base, Value) and getattr(base, "path", "").endswith("Module"):
            return True
    return False


def children(thing: Thing) -> Iterator[Thing]:
    """The modules directly within one: attributes, and what `ModuleList` and `Sequential` hold, but nothing in plain lists."""
    for value in thing.attrs.values():
        if isinstance(value, Thing) and value.module:
            yield value
    if thing.kind.removeprefix(NN) in _LISTS:
        yield from parts(thing)


def parts(thing: Thing) -> list[Thing]:
    """What a list of modules holds."""
    found: list[Thing] = []
    for argument in thing.arguments:
        if isinstance(argument, Thing) and argument.module:
            found.append(argument)
        elif isinstance(argument, Box):
            inside = [*(argument.items or ()), *(argument.keys or {}).values(), argument.element]
            found += [v for v in inside if isinstance(v, Thing) and v.module]
    return found


def family(thing: Thing) -> list[Thing]:
    """A module and all beneath it, each once."""
    found: list[Thing] = []
    waiting = [thing]
    while waiting:
        one = waiting.pop()
        if not any(one is other for other in found):
            found.append(one)
            waiting += children(one)
    return found


def move(thing: Thing, device: str | None) -> None:
    """`.to(device)`: parameters, buffers and modules beneath; plain tensors in attributes stay where they are."""
    for module in family(thing):
        module.device = device
        for name, value in module.attrs.items():
            if isinstance(value, Tensor) and value.parameter:
                module.attrs[name] = replace(value, device=device)


def cast(state: State, thing: Thing, dtype: str | None, node: ast.AST) -> None:
    """`.double()` and its like."""
    line = getattr(node, "lineno", 0)
    if dtype == ops.FLOAT64:
        state.note("double_module", node, name=thing.kind)
    for module in family(thing):
        module.double_line = line if dtype == ops.FLOAT64 else 0


def call_own_method(
    state: State, thing: Thing, name: str, args: list[object], options: dict[str, object], node: ast.AST
) -> object:
    """A method that every module has; `NotImplemented` for others."""
    if name in ("cuda", "cpu", "to", "double", "float", "half", "to_empty"):
        if name in ("cuda", "cpu"):
            move(thing, name)
        elif name in ("double", "float", "half"):
            cast(state, thing, ops._DTYPES[name], node)
        for value in [*args, *(options[k] for k in ("device", "dtype") if k in options)] if name == "to" else []:
            dtype = ops.dtype_of(value)
            if dtype is not None:
                cast(state, thing, dtype, node)
            elif isinstance(value, Tensor):
                move(thing, value.device)
            elif not (isinstance(value, Const) and isinstance(value.value, bool)):
                move(thing, ops.device_of(value))
        return thing
    if name in ("train", "eval", "requires_grad_", "apply", "share_memory"):
        return thing
    if name in ("parameters", "buffers"):
        return Box("parameters", None, element=Tensor(device=thing.device, parameter=True, ids=NOTHING))
    if name in ("named_parameters", "named_buffers"):
        tensor = Tensor(device=thing.device, parameter=True)
        return Box("parameters", None, element=Box("tuple", [UNKNOWN, tensor]))
    if name == "register_buffer" and len(args) > 1 and isinstance(args[0], Const):
        value = args[1]
        thing.attrs[str(args[0].value)] = replace(value, parameter=True) if isinstance(value, Tensor) else value
        return Const(value=None)
    if name in ("children", "modules", "named_children", "named_modules"):
        return Box("list", None, element=UNKNOWN)
    if name in ("state_dict", "load_state_dict"):
        return UNKNOWN
    if name == "zero_grad":
        set_to_none = options.get("set_to_none")
        if isinstance(set_to_none, Const) and set_to_none.value is False:
            state.note("zeroed", node, name=name)
        return Const(value=None)
    if name in ("append", "extend", "insert", "add_module", "register_module"):
        thing.arguments.append(args[-1] if args else UNKNOWN)
        return thing
    return NotImplemented


def call(state: State, thing: Thing, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """`module(x)` of a library's module."""
    kind = thing.kind.removeprefix(NN)
    values = [*args, *options.values()]
    if kind == "Sequential":
        result: object = args[0] if args else UNKNOWN
        modules = parts(thing)
        for module in modules:
            result = state.call(module, [result], {}, node)
        return result if modules else ops.unknown(*values)
    found = tensors(*values)
    if not found and "Loss" not in kind:
        return ops.unknown(*values)
    if thing.device in ("cpu", "cuda") and "Loss" not in kind and kind not in _ACTIVATIONS and _weighs(kind):
        found = [*found, Tensor(device=thing.device)]
    if "Loss" in kind:
        for weight in tensors(*(thing.options.get(name, UNKNOWN) for name in ("weight", "pos_weight"))):
            found = [*found, replace(weight, device="cuda" if thing.device == "cuda" else weight.device)]
    if thing.double_line and (_weighs(kind) or "Norm" in kind):  # a loss or an activation has no numbers of its own
        where = thing.device if _weighs(kind) or not found else found[0].device
        found = [*found, Tensor(device=where, dtype=ops.FLOAT64, double_line=thing.double_line)]
    result_tensor = ops.combine(state, _ACTIVATIONS.get(kind, kind), node, found)
    if result_tensor.device != "cpu" and _weighs(kind):
        state.launched()
    return _result(state, thing, kind, args, found, result_tensor, node)


def _weighs(kind: str) -> bool:
    """Whether a module of the library has parameters and does work worth the name."""
    return kind.startswith(("Conv", "Linear", "Embedding", "Transformer", "Multihead", "LSTM", "GRU", "RNN", "Bilinear"))


def _result(
    state: State, thing: Thing, kind: str, args: list[object], found: list[Tensor], result: Tensor, node: ast.expr
) -> object:
    """What the different kinds of modules give, and what they note."""
    if "Loss" in kind:
        reduction = thing.options.get("reduction")
        return replace(result, scalar=not (isinstance(reduction, Const) and reduction.value == "none"))
    if kind in RECURRENT:
        origin = _recurrent(state, thing, kind, args, found, node)
        clean = replace(result, origin=origin)
        hidden: object = Box("tuple", [clean, clean]) if kind == "LSTM" else clean
        return Box("tuple", [replace(result, origin=0), hidden])
    if kind in CELLS:
        own = found[0]
        other = tensors(*args[1:2])
        changed = [t for t in other if not t.origin]
        behind = changed[0] if changed else other[0] if other else Tensor(tags=tags(*args[1:2]), origin=-1)
        origin = state.note("cell", node, own, behind, name=kind)
        clean = replace(result, origin=origin, tags=own.tags)
        return Box("tuple", [clean, clean]) if kind == "LSTMCell" else clean
    if kind == "Linear" and result.tags:
        state.note("product", node, found[0], name="linear")
    if kind in _CONVOLUTIONS and found[0].varies and result.device != "cpu":
        state.note("varying_conv", node, found[0], name=kind)
    if kind in _DISTURBING and result.tags:
        state.note("disturbed", node, found[0], name=kind)
    if kind == "MultiheadAttention":
        return Box("tuple", [result, result])
    kept = found[0].ones if not kind.startswith("Conv") else NOTHING
    return replace(result, scalar=False, ones=kept)


def _recurrent(state: State, thing: Thing, kind: str, args: list[object], found: list[Tensor], node: ast.expr) -> int:
    """Notes a call of a recurrent layer: whether it gets a single time step, and the state that it is given."""
    first = thing.options.get("batch_first")
    dimension = 1 if isinstance(first, Const) and first.value is True else 0
    given = tensors(*args[1:2])
    behind = given[0] if given else Tensor(tags=tags(*args[1:2])) if len(args) > 1 else None
    return state.note("recurrent", node, found[0], behind, name=kind, number=int(dimension in found[0].ones))


def parameter(state: State, args: list[object]) -> Tensor:
    """`nn.Parameter(tensor)`."""
    value = args[0] if args and isinstance(args[0], Tensor) else Tensor(device=state.default_device or "cpu")
    return replace(value, parameter=True, factory=0, ids=NOTHING)


def device_attribute(thing: Thing) -> Device:
    """`model.device`, where a class has no such attribute of its own."""
    return Device(kind=thing.device)
