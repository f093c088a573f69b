"""What the functions of torch, NumPy and the standard library give, by their dotted names."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from breakeven.lint.reading import modules
from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.settings import SETTINGS, Handler
from breakeven.lint.reading.state import State, tensors
from breakeven.lint.reading.values import (
    NOTHING,
    UNKNOWN,
    Box,
    Clock,
    Const,
    Number,
    Reading,
    Ref,
    Tensor,
    Thing,
    Value,
    graph,
)

_FACTORIES = {
    "zeros",
    "ones",
    "randn",
    "rand",
    "empty",
    "full",
    "randint",
    "arange",
    "linspace",
    "logspace",
    "eye",
    "normal",
    "range",
}
_LIKE = {"zeros_like", "ones_like", "randn_like", "rand_like", "empty_like", "full_like", "randint_like"}
_FROM_DATA = {"tensor", "as_tensor", "from_numpy", "asarray", "FloatTensor", "LongTensor", "Tensor", "DoubleTensor", "frombuffer"}
_JOINS = {"stack", "cat", "concat", "concatenate", "hstack", "vstack"}
_CLOCKS = {
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "time.time_ns",
    "time.perf_counter_ns",
    "timeit.default_timer",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "time.monotonic_ns",
}
_NUMPY_FLOATS = {
    "rand",
    "randn",
    "random",
    "standard_normal",
    "normal",
    "uniform",
    "zeros",
    "ones",
    "linspace",
    "exponential",
    "empty",
    "random_sample",
    "gamma",
    "beta",
    "full",
}
_DRAWS = {
    "random.randint",
    "random.randrange",
    "random.choice",
    "random.uniform",
    "random.random",
    "random.choices",
    "random.sample",
    "random.expovariate",
    "random.gauss",
    "numpy.random.randint",
    "numpy.random.choice",
}
_SAVES = {"torch.save", "pickle.dump", "joblib.dump", "numpy.save", "numpy.savez", "safetensors.torch.save_file"}


def call(state: State, path: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """What calling a function of a library gives."""
    root, _, name = path.rpartition(".")
    handler = _EXACT.get(path)
    if handler is not None:
        return handler(state, name, args, options, node)
    if path in _SAVES:
        state.note("save", node, name=path)
        return Const(value=None)
    if path.startswith("torch."):
        return _torch(state, root, name, args, options, node)
    if path in _CLOCKS:
        return Clock(
            line=node.lineno,
            node=id(node),
            work=state.work,
            pending=state.pending,
            loops=len(state.loops),
            steps=state.steps,
            epochs=state.epochs,
        )
    if name in ("choice", "choices", "sample") and root == "random" and args and isinstance(args[0], Box):
        return _drawn(state, name, args[0])
    if path in _DRAWS:
        return Number(terms=((state.symbol(), 1),)) if name not in ("choices", "sample") else UNKNOWN
    if root.startswith("numpy"):
        return _numpy(state, root, name, args, options, node)
    state.escaped(*args, *options.values())
    return ops.unknown(*args, *options.values())


def _torch(state: State, root: str, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """Functions of torch that have no handler of their own."""
    if root == "torch.nn" and name[:1].isupper():
        return modules.made(state, f"torch.nn.{name}", args, options, node)
    if root == "torch.optim" and name[:1].isupper():
        thing = Thing(f"torch.optim.{name}", None, {}, args, options, line=node.lineno)
        state.note("optimizer", node, name=name, number=_optimizer_mode(options))
        return thing
    if root in ("torch", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft"):
        return _function(state, name, args, options, node)
    if root == "torch.nn.utils.rnn":
        return _packing(state, name, args, options, node)
    if root.startswith(("torch.utils.data", "torch.optim", "torch.cuda", "torch.amp", "torch.autograd", "torch.profiler")):
        return Thing(f"{root}.{name}", None, {}, args, options, line=node.lineno)
    if root.startswith("torch.nn.utils"):
        found = tensors(*args[:1])
        return Tensor(device=found[0].device if found else None, scalar=True) if name.startswith("clip_grad") else ops.unknown()
    state.escaped(*args, *options.values())
    return ops.unknown(*args, *options.values())


def _optimizer_mode(options: dict[str, object]) -> int:
    """1: for-each and fused both off by the call."""
    foreach, fused = options.get("foreach"), options.get("fused")
    off = isinstance(foreach, Const) and foreach.value is False
    return int(off and not (isinstance(fused, Const) and fused.value is True))


def _function(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """`torch.name(...)` and `torch.nn.functional.name(...)`."""
    if name in _FACTORIES:
        return replace(ops.made(state, node, options, args), zeros=name == "zeros")
    if name == "randperm":
        return replace(ops.made(state, node, options, args), dtype="int64", factory=0)
    if name in _LIKE:
        like = args[0] if args and isinstance(args[0], Tensor) else None
        return replace(ops.made(state, node, options, [], like=like), zeros=name == "zeros_like")
    if name in _FROM_DATA:
        return _from_data(state, name, args, options, node)
    if name in _JOINS:
        return _joined(state, name, args, options, node)
    if name in ops.COUNTING or (name == "where" and len(args) == 1):
        for tensor in tensors(*args)[:1]:
            ops.read(state, "mask", node, tensor, name)
        return ops.combine(state, name, node, args)
    if name in ops.REDUCTIONS and args and isinstance(args[0], Tensor):
        return ops.reduced(state, name, node, args[0], args[1:], options)
    if name in ("split", "chunk", "unbind") and args and isinstance(args[0], Tensor):
        return Box("tuple", None, element=replace(args[0], ones=NOTHING), ids=args[0].ids)
    if name == "interpolate" and args and isinstance(args[0], Tensor):
        sizes = [*args[1:], *(options[k] for k in ("size", "scale_factor") if k in options)]
        tensor = ops.combine(state, name, node, args[:1])
        return replace(tensor, varies=tensor.varies or any(ops.varies(s) for s in sizes))
    if name == "checkpoint":
        return state.call(args[0], args[1:], {}, node) if args else UNKNOWN
    result = ops.combine(state, name, node, [*args, *options.values()])
    if name.endswith("loss") or name in ("cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"):
        reduction = options.get("reduction")
        return replace(result, scalar=not (isinstance(reduction, Const) and reduction.value == "none"), varies=False)
    if name.startswith("conv") and result.varies and result.device != "cpu":
        state.note("varying_conv", node, result, name=name)
    if not tensors(*args, *options.values()):
        return ops.unknown(*args)
    return result


def _from_data(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Tensor:
    """Tensors made of numbers that Python or NumPy holds."""
    value = args[0] if args else UNKNOWN
    if isinstance(value, Tensor):
        if "dtype" in options:
            value = ops.converted(state, value, ops.dtype_of(options["dtype"]), node)
        if value.device != "cpu" and name in ("tensor", "Tensor") and not value.numpy:
            ops.read(state, "item", node, value, name)
        named = options.get("device")
        device = ops.device_of(named) if named is not None else value.device
        double = node.lineno if value.numpy and value.double_line else value.double_line
        return replace(value, device=device, numpy=False, double_line=double, ids=NOTHING if name != "as_tensor" else value.ids)
    tensor = ops.made(state, node, options, [], random=False)
    literal = (
        isinstance(value, Box)
        and value.items is not None
        and all(isinstance(i, Const | Number) and not ops.varies(i) for i in value.items)
    )
    scalar = isinstance(value, Const | Number | Reading)
    dtype = {"LongTensor": "int64", "DoubleTensor": ops.FLOAT64}.get(name, tensor.dtype)
    for inner in tensors(value):
        if inner.device != "cpu" and not inner.numpy:
            ops.read(state, "item", node, inner, name)
    return replace(
        tensor,
        scalar=scalar,
        dtype=dtype,
        factory=node.lineno if literal and tensor.device == "cpu" else 0,
        made_in=state.open_loops(),
        double_line=node.lineno if dtype == ops.FLOAT64 else 0,
        tags=value.tags if isinstance(value, Value) else NOTHING,
    )


def _joined(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """`stack` and `cat`: notes parts that were copied to the device one by one."""
    found = tensors(*args[:1])
    copied = [t for t in found if t.moved]
    box = args[0] if args else UNKNOWN
    each = isinstance(box, Box) and (box.items is None or box.element is not UNKNOWN)
    if copied and (each or len({t.moved for t in copied}) > 2 or len(copied) > 2):
        state.note("joined_copies", node, copied[0], name=name)
    result = ops.combine(state, name, node, [*args, *options.values()])
    return replace(result, scalar=False, ids=result.ids | (graph(box) if state.grad else NOTHING))


def _packing(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """Padding and packing of sequences."""
    result = replace(ops.combine(state, name, node, args[:1]), varies=True, scalar=False)
    if name == "pad_packed_sequence":
        return Box("tuple", [result, Tensor(device="cpu", dtype="int64")])
    return result


def _numpy(state: State, root: str, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    """NumPy: what draws or makes floating-point numbers makes them in double precision, unless told otherwise."""
    if name in ("default_rng", "RandomState"):
        return Thing("numpy.random.Generator")
    if name in _NUMPY_FLOATS:
        return numpy_floats(state, name, options, node)
    if name in ("array", "asarray", "asanyarray", "float32", "float64"):
        inner = tensors(*args[:1])
        dtype = ops.dtype_of(options.get("dtype")) or (
            ops.FLOAT64 if name == "float64" else "float32" if name == "float32" else None
        )
        base = inner[0] if inner else Tensor(device="cpu", numpy=True)
        if inner and not base.numpy and base.device != "cpu":
            ops.read(state, "item", node, base, name)
        dtype = dtype or base.dtype
        return replace(
            base, numpy=True, device="cpu", dtype=dtype, double_line=node.lineno if dtype == ops.FLOAT64 else 0, ids=NOTHING
        )
    if tensors(*args, *options.values()):
        return replace(ops.combine(state, name, node, [*args, *options.values()]), numpy=True, ids=NOTHING)
    return UNKNOWN


def numpy_floats(state: State, name: str, options: dict[str, object], node: ast.AST) -> Tensor:
    """An array that NumPy made of floating-point numbers, out of nothing."""
    dtype = ops.dtype_of(options.get("dtype")) or ops.FLOAT64
    line = getattr(node, "lineno", 0)
    drawn = name not in ("zeros", "ones", "empty", "full", "linspace")
    tensor = Tensor(device="cpu", dtype=dtype, numpy=True, double_line=line if dtype == ops.FLOAT64 else 0, born=line)
    return replace(tensor, factory=line, made_in=state.open_loops()) if drawn else tensor


def _drawn(state: State, name: str, box: Box) -> object:
    """`random.sample(items, k)` and its like: elements of a list that is known."""
    numbers = any(isinstance(item, Number | Const) for item in (*(box.items or ()), box.element))
    element = Number(terms=((state.symbol(), 1),)) if numbers else state.element(box)
    return element if name == "choice" else Box("list", None, None, element, len(state.loops))


def _gradients(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    state.stepped(frozenset().union(*(graph(a) for a in [*args, *options.values()])))
    state.launched()
    return Box("tuple", None, element=ops.combine(state, name, node, args[1:2]))


def _true(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    return Const(value=True)


def _parameter(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Tensor:
    return modules.parameter(state, args)


def _same(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
    return args[0] if args else UNKNOWN


_EXACT: dict[str, Handler] = {
    **SETTINGS,
    "torch.cuda.is_available": _true,
    "torch.accelerator.is_available": _true,
    "torch.autograd.grad": _gradients,
    "torch.autograd.backward": _gradients,
    "torch.nn.Parameter": _parameter,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.compile": _same,
    "torch.jit.script": _same,
    "torch.nn.DataParallel": _same,
    "copy.deepcopy": _same,
    "copy.copy": _same,
    "tqdm.tqdm": _same,
    "tqdm.auto.tqdm": _same,
    "tqdm.trange": lambda state, name, args, options, node: state.call(Ref(path="builtins.range"), args, {}, node),
    "tqdm.notebook.tqdm": _same,
}
