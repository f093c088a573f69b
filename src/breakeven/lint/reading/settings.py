"""Calls that set something for the whole program: devices, default types, threads, debugging aids, the environment."""

from __future__ import annotations

import ast
from collections.abc import Callable

from breakeven.lint.reading import tensors as ops
from breakeven.lint.reading.state import State
from breakeven.lint.reading.values import UNKNOWN, Const, Device, Number, Thing

Handler = Callable[[State, str, "list[object]", "dict[str, object]", ast.expr], object]


def _device(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Device:
    value = args[0] if args else options.get("type", UNKNOWN)
    return Device(kind=ops.device_of(value))


def _synchronize(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    state.synchronised()
    return Const(value=None)


def _noted(kind: str) -> Handler:
    """A handler that writes the call down."""

    def handler(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> object:
        asked = args[0] if args else options.get("mode", Const(value=True))
        known = asked.value if isinstance(asked, Const) else ops.index_of(asked)
        state.note(kind, node, name=name if known and known != "default" else "off")
        return Thing(f"noted.{kind}")

    return handler


def _threads(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    count = args[0] if args else UNKNOWN
    if isinstance(count, Number) and count.terms and count.terms[0][0] < 0:
        state.note("threads", node, name="times", number=count.terms[0][1])
    elif (number := ops.index_of(count)) is not None:
        state.note("threads", node, name="count", number=number)
    return Const(value=None)


def _environment(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    if len(args) > 1 and isinstance(args[0], Const):
        environment(state, node, str(args[0].value), args[1])
    return Const(value=None)


def environment(state: State, node: ast.AST, name: str, value: object) -> None:
    """A variable of the environment is set."""
    text = value.value if isinstance(value, Const) else None
    if name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS") and isinstance(text, str) and text.isdigit():
        state.note("threads", node, name="count", number=int(text))
    if name == "CUDA_LAUNCH_BLOCKING" and text == "1":
        state.note("debug", node, name=name)


def _cores(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Number:
    return Number(terms=((state.constant(), 1),))


def _default_dtype(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    dtype = ops.dtype_of(args[0]) if args else None
    named = args[0].value if args and isinstance(args[0], Const) else getattr(args[0] if args else None, "path", "")
    double = dtype == ops.FLOAT64 or (isinstance(named, str) and "DoubleTensor" in named)
    state.double = node.lineno if double else 0
    if double:
        state.note("double_default", node, name=name)
    if isinstance(named, str) and "cuda" in named:
        state.default_device = "cuda"
    return Const(value=None)


def _default_device(state: State, name: str, args: list[object], options: dict[str, object], node: ast.expr) -> Const:
    state.default_device = ops.device_of(args[0]) if args else None
    return Const(value=None)


#: What handles each of them.
SETTINGS: dict[str, Handler] = {
    "torch.device": _device,
    "torch.cuda.synchronize": _synchronize,
    "torch.accelerator.synchronize": _synchronize,
    "torch.cuda.empty_cache": _noted("empty_cache"),
    "torch.set_num_threads": _threads,
    "torch.set_num_interop_threads": _threads,
    "os.cpu_count": _cores,
    "os.environ.setdefault": _environment,
    "os.putenv": _environment,
    "multiprocessing.cpu_count": _cores,
    "torch.autograd.set_detect_anomaly": _noted("debug"),
    "torch.autograd.detect_anomaly": _noted("debug_context"),
    "torch.cuda.set_sync_debug_mode": _noted("debug"),
    "torch.set_default_dtype": _default_dtype,
    "torch.set_default_tensor_type": _default_dtype,
    "torch.set_default_device": _default_device,
}
