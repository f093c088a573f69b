"""Methods and attributes of tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from msgspec.structs import replace

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import State, tensors
from breakeven.lint.reading.values import NOTHING, UNKNOWN, Box, Const, Device, Method, Number, Ref, Tensor, Value, graph

_SAME = {
    "contiguous",
    "requires_grad_",
    "clone",
    "pin_memory",
    "share_memory_",
    "retain_grad",
    "copy",
    "view_as",
    "expand_as",
    "values",
}
_CASTS = {"double", "float", "half", "long", "int", "bool", "bfloat16", "short", "byte"}
_SPLITS = {"split", "chunk", "unbind", "tensor_split"}
_SHAPES = {
    "view",
    "reshape",
    "flatten",
    "permute",
    "transpose",
    "swapaxes",
    "t",
    "expand",
    "repeat",
    "movedim",
    "squeeze",
    "ravel",
}
_READS = {"item": "item", "tolist": "item", "__float__": "item", "__bool__": "truth"}
_NEW = {"new_zeros", "new_ones", "new_empty", "new_full", "new_tensor"}
_SIZES = {
    "size",
    "dim",
    "ndimension",
    "numel",
    "nelement",
    "stride",
    "element_size",
    "get_device",
    "is_floating_point",
    "is_contiguous",
}


def attribute(state: State, tensor: Tensor, name: str) -> object:
    """An attribute of a tensor, or one of its methods."""
    if name == "device":
        return Device(tags=tensor.tags, kind=tensor.device)
    if name in ("shape", "ndim"):
        return Box("tuple", None, element=Value(tags=NOTHING), loops=0) if name == "shape" else UNKNOWN
    if name in ("data", "T", "mT", "real"):
        return replace(tensor, ids=NOTHING if name == "data" else tensor.ids, origin=0)
    if name == "grad":
        return replace(tensor, ids=NOTHING, origin=0, gradient=True)
    if name == "is_cuda":
        return Const(value=tensor.device == "cuda") if tensor.device else UNKNOWN
    if name == "dtype":
        return Ref(path=f"torch.{tensor.dtype}") if tensor.dtype else UNKNOWN
    return Method(name, tensor)


def call_method(
    state: State, tensor: Tensor, name: str, args: list[object], options: dict[str, object], node: ast.expr
) -> object:
    """What a method of a tensor gives."""
    if name in ("to", "cuda", "cpu", "type", "to_device"):
        return _to(state, tensor, name, args, options, node)
    if name in _CASTS:
        return ops.converted(state, replace(tensor, origin=0), ops._DTYPES[name], node)
    if name == "astype":
        return ops.converted(state, tensor, ops.dtype_of(args[0]) if args else None, node)
    if name in _READS:
        return ops.read(state, _READS[name], node, tensor, name)
    if name == "numpy":
        return replace(tensor, numpy=True, device="cpu", ids=NOTHING)
    if name == "backward":
        return _backward(state, tensor, args)
    if name in _SIZES:
        return Value(tags=NOTHING)
    if name in _SAME:
        return replace(tensor, origin=0)
    if name == "detach":
        return replace(tensor, ids=NOTHING)
    if name in _NEW:
        return ops.made(state, node, options, args, like=tensor)
    return _operation(state, tensor, name, args, options, node)


def _operation(state: State, tensor: Tensor, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """Arithmetic, reductions, changes of shape."""
    if name in ops.COUNTING:
        ops.read(state, "mask", node, tensor, name)
    if name in ops.REDUCTIONS:
        return ops.reduced(state, name, node, tensor, args, options)
    if name in _SPLITS:
        return Box("tuple", None, element=_part(state, tensor, name, args, node), ids=tensor.ids)
    if name in _SHAPES or name == "unsqueeze":
        return _shaped(tensor, name, args, node)
    if name == "index_select" or name == "take" or name == "gather":
        return replace(ops.combine(state, name, node, [tensor, *args]), scalar=False)
    if name in ("zero_", "fill_") and not args[1:]:
        if tensor.gradient:
            state.note("cleared", node, tensor, name=name)
        return replace(tensor, origin=0)
    if name == "copy_":
        if args and isinstance(args[0], Tensor) and args[0].device == "cpu" and tensor.device == "cuda":
            state.note("to_device", node, args[0], name="copy_")
        return replace(tensor, origin=0)
    if name in ("normal_", "uniform_", "random_", "bernoulli_") and not args:
        return replace(tensor, origin=0)
    if name.endswith("_") and not name.startswith("_"):
        if tensor.parameter and state.loops and any(t.gradient for t in tensors(*args)):
            state.note("updated", node, tensor, name=name)
        return replace(
            ops.combine(state, name, node, [tensor, *args]),
            device=tensor.device,
            parameter=tensor.parameter,
            factory=tensor.factory,
        )
    if name in ("register_hook", "is_set_to", "data_ptr", "dtype"):
        return UNKNOWN
    return ops.combine(state, name, node, [tensor, *args])


def _part(state: State, tensor: Tensor, name: str, args: Sequence[object], node: ast.AST) -> Tensor:
    """One of the parts that `split` and the like give."""
    if name == "chunk" and tensor.tags:
        state.note("chunk", node, tensor, number=ops.index_of(args[0]) or 0 if args else 0)
    ones = NOTHING
    if args and ops.index_of(args[0]) == 1 and name == "split":
        where = ops.index_of(args[1]) if len(args) > 1 else 0
        ones = frozenset({where}) if where is not None else NOTHING
    return replace(tensor, ones=ones, factory=0, moved=0)


def _shaped(tensor: Tensor, name: str, args: Sequence[object], node: ast.AST) -> Tensor:
    """The same elements in another shape."""
    ones = NOTHING
    where = ops.index_of(args[0]) if args else None
    if name == "unsqueeze" and where is not None and where >= 0:
        ones = frozenset({where} | {d + (d >= where) for d in tensor.ones})
    elif name in ("view", "reshape"):
        sizes = args[0].items if len(args) == 1 and isinstance(args[0], Box) and args[0].items else args
        ones = frozenset(d for d, size in enumerate(sizes) if ops.index_of(size) == 1)
    elif name == "transpose" and len(args) == 2:
        a, b = ops.index_of(args[0]), ops.index_of(args[1])
        ones = frozenset(b if d == a else a if d == b else d for d in tensor.ones if a is not None and b is not None)
    grown = any(ops.varies(a) for a in args)
    return replace(tensor, ones=ones, scalar=False, origin=0, varies=tensor.varies or grown, born=getattr(node, "lineno", 0))


def _to(state: State, tensor: Tensor, name: str, args: list[object], options: dict[str, object], node: ast.AST) -> Tensor:
    """Moves and casts."""
    if name in ("cuda", "cpu"):
        return ops.moved(state, tensor, name, node)
    result = tensor
    for value in [*args, *(options[k] for k in ("device", "dtype", "other") if k in options)]:
        dtype = ops.dtype_of(value)
        if dtype is not None:
            result = ops.converted(state, result, dtype, node)
        elif isinstance(value, Tensor):
            result = ops.moved(state, result, value.device, node)
        elif isinstance(value, Const) and isinstance(value.value, bool):
            continue  # non_blocking
        else:
            result = ops.moved(state, result, ops.device_of(value), node)
    return result


def _backward(state: State, tensor: Tensor, args: Sequence[object]) -> object:
    """A backward pass: the graphs behind the loss have been of use."""
    state.stepped(tensor.ids | frozenset().union(*(graph(a) for a in args)))
    if tensor.device != "cpu":
        state.launched()
    return Const(value=None)


def taken(state: State, tensor: Tensor, index: object, node: ast.AST) -> Tensor:
    """`tensor[index]`."""
    parts = index.items if isinstance(index, Box) and index.items is not None and index.kind == "tuple" else [index]
    ones: set[int] = set()
    taken_from, kept = 0, 0  # dimensions of the tensor that are done with, and of the result
    seen, grows, whole = tensor.tags, tensor.varies, True
    for part in parts:
        if isinstance(part, Const) and part.value is None:
            ones.add(kept)
            kept += 1
            continue
        if isinstance(part, Tensor):
            whole = False
            grows = _by_tensor(state, tensor, part, node) or grows
            seen |= part.tags
            kept += 1
        elif isinstance(part, Number):
            seen |= part.tags | {symbol for symbol, _ in part.terms if symbol > 0}
        elif isinstance(part, Box) and part.kind == "slice":
            length, marks = part.items or [UNKNOWN, UNKNOWN]
            seen |= marks.tags if isinstance(marks, Value) else NOTHING
            if ops.index_of(length) == 1 or (length is UNKNOWN and taken_from in tensor.ones):
                ones.add(kept)
            grows = grows or ops.varies(length)
            kept += 1
        elif isinstance(part, Value):
            seen |= part.tags
            whole = whole and isinstance(part, Const)
            kept += isinstance(part, Const)
        taken_from += 1
    ones |= {d - taken_from + kept for d in tensor.ones if d >= taken_from}
    return replace(
        tensor,
        ones=frozenset(ones),
        tags=seen,
        varies=grows,
        factory=0,
        origin=tensor.origin if whole else 0,
        ids=tensor.ids if state.grad else NOTHING,
    )


def _by_tensor(state: State, tensor: Tensor, index: Tensor, node: ast.AST) -> bool:
    """An index that is a tensor: a mask has to be counted first; whether the size of the result varies with it."""
    if index.mask and not index.numpy:
        ops.read(state, "mask", node, replace(index, device=index.device or tensor.device), "mask")
        return True
    if tensor.device == "cpu" and index.device == "cuda" and not index.scalar:
        state.note("mismatch", node, tensor, name="index")
    return False
