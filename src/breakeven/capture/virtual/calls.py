"""Calls as a stream holds them: what an operation, a copy or a wait says of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from breakeven.capture.virtual.marks import BFLOAT16, HALF, PARAMETER
from breakeven.capture.virtual.plans import Plan, frozen
from breakeven.timeline import schema
from breakeven.timeline.opstream import Call, attributes

#: The one logical device.
DEVICE = "cuda:0"

Mark = Callable[[torch.Tensor], int]


def make_call(
    plan: Plan, mark: Mark, args: Any, kwargs: dict[str, Any], out: Any, device: int, casting: bool
) -> Call:  # Any: any operation
    """The distinct call behind one executed operation."""
    inputs = tensors(args) + tensors(kwargs.values())
    outputs = tensors(out if isinstance(out, (tuple, list)) else (out,))
    said = {name: frozen(args[i]) for i, name in plan.kept if i < len(args)}
    said |= {name: frozen(value) for name, value in kwargs.items() if name in plan.kept_names}
    if plan.name.startswith(("aten::_foreach", "aten::_fused", "aten::_amp_foreach")):
        said["tensors"] = len(args[0])
        if not outputs and plan.name.endswith("_"):  # written in place, nothing returned
            outputs = list(args[0])
    marks = [mark(t) for t in inputs]
    dtypes = tuple(dtype_name(t, m) for t, m in zip(inputs, marks, strict=True))
    computes_in = _computes_in(dtypes, outputs, mark if casting else None)
    if casting and computes_in in ("float16", "bfloat16"):  # what was float32 has been cast
        dtypes = tuple(computes_in if d == "float32" else d for d in dtypes)
    return Call(
        op=plan.name,
        kind=schema.Kind.COMPUTE,
        device=DEVICE if device else "cpu",
        inputs=tuple(tuple(t.shape) for t in inputs),
        input_dtypes=dtypes,
        parameters=tuple(bool(m & PARAMETER) for m in marks),
        outputs=tuple(tuple(t.shape) for t in outputs),
        dtype=computes_in,
        attributes=attributes(**{k: v for k, v in said.items() if v is not None}),
    )


def copy_call(
    direction: str, shape: tuple[int, ...], dtype: torch.dtype | None, size: int, pinned: bool, non_blocking: bool
) -> Call:
    """A copy between host and device."""
    name = "" if dtype is None else str(dtype).removeprefix("torch.")
    return Call(
        op=f"copy::{direction}",
        kind=schema.Kind.COPY,
        device=DEVICE,
        inputs=(shape,) if dtype is not None else (),
        input_dtypes=(name,) if name else (),
        parameters=(False,) if name else (),
        outputs=(shape,) if name else (),
        dtype=name,
        attributes=attributes(bytes=size, pinned=pinned, non_blocking=non_blocking),
    )


def sync_call(name: str) -> Call:
    """A wait of the host for the device."""
    return Call(op=f"sync::{name}", kind=schema.Kind.SYNC, device=DEVICE)


def host_call(name: str) -> Call:
    """Work of the host that is no operation."""
    return Call(op=f"host::{name}", kind=schema.Kind.HOST, device="cpu")


def tensors(values: Any) -> list[torch.Tensor]:  # Any: arguments of any operation
    """The tensors among values, those inside lists too, in order."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if isinstance(v, torch.Tensor)]
    return found


def dtype_name(tensor: torch.Tensor, mark: int) -> str:
    """dtype that a tensor would have on CUDA: its own, or autocast's."""
    if mark & (HALF | BFLOAT16) and tensor.dtype is torch.float32:
        return "float16" if mark & HALF else "bfloat16"
    return str(tensor.dtype).removeprefix("torch.")


_WIDTH = {"float64": 5, "complex128": 6, "complex64": 5, "float32": 4, "bfloat16": 3, "float16": 2}


def _computes_in(dtypes: tuple[str, ...], outputs: list[torch.Tensor], mark: Mark | None) -> str:
    if mark is not None and outputs and outputs[0].is_floating_point():
        return dtype_name(outputs[0], mark(outputs[0]))
    floating = [d for d in dtypes if d in _WIDTH]
    if floating:
        return max(floating, key=lambda d: _WIDTH[d])
    if outputs:
        return str(outputs[0].dtype).removeprefix("torch.")
    return dtypes[0] if dtypes else ""
