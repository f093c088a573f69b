"""Questions that a tensor answers (`device`, `is_cuda` …) and the moves it makes (`to`, `cuda`, `cpu` …)."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.devices import CPU_DEVICE, CUDA_DEVICE, names_cuda
from breakeven.capture.virtual.marks import CUDA, PINNED
from breakeven.capture.virtual.moves import Mover, parse_to
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

_Tensor = torch._C.TensorBase


def install(patches: Patches, recorder: Recorder, mover: Mover) -> None:
    """Patch `torch.Tensor`."""
    _questions(patches, recorder)
    _moves(patches, recorder, mover)
    _reads(patches, recorder)


def _questions(patches: Patches, recorder: Recorder) -> None:
    of = recorder.marks.of
    real_device, real_is_cuda, real_is_cpu = _Tensor.device.__get__, _Tensor.is_cuda.__get__, _Tensor.is_cpu.__get__  # type: ignore[attr-defined]  # getset

    def device(self: torch.Tensor) -> torch.device:
        return CUDA_DEVICE if of(self) & CUDA else real_device(self)

    def is_cuda(self: torch.Tensor) -> bool:
        return bool(of(self) & CUDA) or real_is_cuda(self)

    def is_cpu(self: torch.Tensor) -> bool:
        return not of(self) & CUDA and real_is_cpu(self)

    def get_device(self: torch.Tensor) -> int:
        return 0 if of(self) & CUDA else _Tensor.get_device(self)

    def is_pinned(self: torch.Tensor, device: Any = None) -> bool:  # Any: a deprecated argument
        return bool(of(self) & PINNED)

    patches.set(torch.Tensor, "device", property(device))
    patches.set(torch.Tensor, "is_cuda", property(is_cuda))
    patches.set(torch.Tensor, "is_cpu", property(is_cpu))
    patches.set(torch.Tensor, "get_device", get_device)
    patches.set(torch, "get_device", get_device)
    patches.set(torch.Tensor, "is_pinned", is_pinned)
    patches.set(torch.Tensor, "record_stream", lambda self, stream: None)


def _moves(patches: Patches, recorder: Recorder, mover: Mover) -> None:
    of = recorder.marks.of

    def to(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # Any: the many forms of `to`
        device, dtype, non_blocking, copy, form = parse_to(args, kwargs)
        here = of(self) & CUDA
        there = here if device is None else CUDA * names_cuda(device)
        if not here and not there:
            if (args and isinstance(args[0], torch.Tensor)) or "other" in kwargs:
                return _Tensor.to(self, dtype=dtype, non_blocking=non_blocking, copy=copy)
            return _Tensor.to(self, *args, **kwargs)
        if not there and device is not None and torch.device(device).type != "cpu":
            return _Tensor.to(self, *args, **kwargs)
        return mover.move(self, there, dtype=dtype, non_blocking=non_blocking, copy=copy, memory_format=form)

    def cuda(
        self: torch.Tensor, device: Any = None, non_blocking: bool = False, memory_format: torch.memory_format | None = None
    ) -> torch.Tensor:  # Any: a device
        if device is not None and not names_cuda(device):
            raise RuntimeError(f"Invalid device, must be cuda device, but got {device}")
        return mover.move(self, CUDA, non_blocking=non_blocking, memory_format=memory_format)

    def cpu(self: torch.Tensor, memory_format: torch.memory_format | None = None) -> torch.Tensor:
        return mover.move(self, 0, memory_format=memory_format)

    def kind(
        self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any
    ) -> Any:  # Any: name, class or dtype
        if dtype is None:
            name = _Tensor.type(self)
            return name.replace("torch.", "torch.cuda.", 1) if of(self) & CUDA else name
        if isinstance(dtype, torch.dtype):
            return mover.move(self, of(self) & CUDA, dtype=dtype)
        name = dtype if isinstance(dtype, str) else getattr(dtype, "type_name", None) or f"{dtype.__module__}.{dtype.__name__}"
        plain = getattr(torch, name.split(".")[-1], None)
        if plain is None or not hasattr(plain, "dtype"):
            return _Tensor.type(self, dtype, non_blocking, **kwargs)
        return mover.move(self, CUDA * (".cuda." in name), dtype=plain.dtype, non_blocking=non_blocking)

    def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:  # Any: a deprecated argument
        return mover.pin(self)

    for name, patch in (("to", to), ("cuda", cuda), ("cpu", cpu), ("type", kind), ("pin_memory", pin_memory)):
        patches.set(torch.Tensor, name, patch)


def _reads(patches: Patches, recorder: Recorder) -> None:
    of = recorder.marks.of

    def numpy(self: torch.Tensor, *, force: bool = False) -> Any:  # Any: an array
        mark = of(self)
        if mark & CUDA and recorder.move is not None:  # a lifted script reads what it thinks is on the host
            array = _Tensor.numpy(self, force=force)
            recorder.copied("d2h", self, pinned=False, non_blocking=False, began=perf_counter_ns())
            return array
        if mark & CUDA:
            if not force:
                raise TypeError(
                    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
                )
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        return _Tensor.numpy(self, force=force)

    def tolist(self: torch.Tensor) -> Any:  # Any: nested lists
        if not of(self) & CUDA:
            return _Tensor.tolist(self)
        recorder.device_ops += 1
        recorder.waited("tolist", self.numel() * self.element_size())
        return _Tensor.tolist(self)

    patches.set(torch.Tensor, "numpy", numpy)
    patches.set(torch.Tensor, "tolist", tolist)
    for name, tag in (
        ("__bool__", "bool"),
        ("__float__", "float"),
        ("__int__", "int"),
        ("__index__", "int"),
        ("__complex__", "item"),
    ):
        if hasattr(_Tensor, name):
            patches.set(torch.Tensor, name, _tagged(recorder, getattr(torch.Tensor, name), tag))
    for name in ("__repr__", "__format__"):
        patches.set(torch.Tensor, name, _tagged(recorder, getattr(torch.Tensor, name), "print"))


def _tagged(recorder: Recorder, real: Callable[..., Any], tag: str) -> Callable[..., Any]:  # Any: any method
    def method(*args: Any, **kwargs: Any) -> Any:  # Any: as above
        before = recorder.tag
        recorder.tag = before or tag
        try:
            return real(*args, **kwargs)
        finally:
            recorder.tag = before

    return method


__all__ = ["CPU_DEVICE", "install"]
