"""A fingerprint of a job on this machine: the same code on the same shapes on the same devices gives the same one."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from breakeven.machine.cores import usable_cores
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.probe import cpu_model


def likeness(step_or_module: Callable[..., object], example: Sequence[object], backends: Sequence[Backend]) -> str:
    """The fingerprint, in hexadecimal. Values of tensors do not count; the settings that decide a step's speed do."""
    import torch

    machine = [
        cpu_model(), str(usable_cores()), platform.python_version(), str(torch.__version__), str(torch.get_num_threads()),
        torch.get_float32_matmul_precision(), str(torch.is_grad_enabled()), *(f"{b.device} {b.name()}" for b in backends),
    ]  # fmt: skip
    parts = [*_shape(step_or_module), *(part for one in example for part in _shape(one)), *machine]
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _shape(value: Any, depth: int = 3) -> Iterator[str]:  # whatever a job is made of
    import torch

    yield type(value).__qualname__
    if isinstance(value, torch.Tensor):
        yield f"{tuple(value.shape)} {value.dtype} {value.layout} {value.requires_grad}"
    elif isinstance(value, torch.nn.Module):
        yield from _module(value)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _shape(one, depth)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield str(name)
            yield from _shape(one, depth)
    elif isinstance(value, (bool, int, float, str, bytes, type(None))):
        yield repr(value)
    elif isinstance(value, FunctionType):
        yield from _function(value, depth)
    elif hasattr(value, "__func__"):  # a bound method
        yield from _function(value.__func__, depth)


def _module(module: Any) -> Iterator[str]:  # a torch module
    yield f"{module!r} {module.training}"
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        yield f"{name} {tuple(tensor.shape)} {tensor.dtype} {tensor.requires_grad}"
    for kind in dict.fromkeys(type(one) for one in module.modules()):
        forward = getattr(kind, "forward", None)
        if isinstance(forward, FunctionType):
            yield from _code(forward.__code__)


def _function(function: FunctionType, depth: int) -> Iterator[str]:
    """Its code, what it has closed over, and the functions of its own module that it names."""
    yield from _code(function.__code__)
    if depth == 0:
        return
    for cell in function.__closure__ or ():
        try:
            yield from _shape(cell.cell_contents, depth - 1)
        except ValueError:  # not filled yet
            continue
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        if isinstance(named, FunctionType) and named.__module__ == function.__module__ and named is not function:
            yield from _function(named, depth - 1)


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield " ".join(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        else:
            yield repr(constant) if not isinstance(constant, frozenset) else repr(sorted(map(repr, constant)))
