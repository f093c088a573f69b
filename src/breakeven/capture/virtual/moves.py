"""Moving a tensor between the logical devices: a real copy on the CPU, with its mark, its row and its gradient's way back."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.marks import CUDA, MOVED, PARAMETER, PINNED
from breakeven.capture.virtual.recorder import Recorder

_to = torch._C.TensorBase.to


class Mover:
    """Moves tensors for one session."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._function = _make_function(self)

    def move(
        self, tensor: torch.Tensor, device: int, *, dtype: torch.dtype | None = None, non_blocking: bool = False,
        copy: bool = False, memory_format: torch.memory_format | None = None,
    ) -> torch.Tensor:  # fmt: skip
        """The tensor on `device` (`CUDA` or 0) in `dtype`; itself where nothing changes and no copy is asked."""
        recorder = self._recorder
        mark = recorder.marks.of(tensor)
        if (mark & CUDA) == device or (not device and mark & MOVED):  # a lifted script's own "cpu" is where it runs
            return self._convert(tensor, dtype, copy, memory_format)
        if (not device and dtype is not None and dtype is not tensor.dtype) or (
            device and dtype is not None and dtype is not tensor.dtype
        ):  # CUDA converts on the side that it copies from
            tensor = self._convert(tensor, dtype, False, None)
        if tensor.requires_grad and torch.is_grad_enabled() and not torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            moved: torch.Tensor = self._function.apply(tensor, device, non_blocking)
        else:
            moved = self.carry(tensor, device, non_blocking)
        return moved

    def carry(self, tensor: torch.Tensor, device: int, non_blocking: bool) -> torch.Tensor:
        """The copy itself, below autograd."""
        recorder = self._recorder
        began = perf_counter_ns()
        mark = recorder.marks.of(tensor)
        recorder.hush += 1
        try:
            moved = _to(tensor, device="cpu", copy=True)
        finally:
            recorder.hush -= 1
        to_pinned = non_blocking and not device  # torch pins the host's side of a non-blocking copy back
        recorder.marks.drop(moved, ~0)
        recorder.marks.add(moved, device | (mark & (PARAMETER | MOVED)) | (PINNED if to_pinned else 0))
        recorder.copied(
            "h2d" if device else "d2h", tensor, pinned=bool(mark & PINNED) if device else to_pinned,
            non_blocking=non_blocking, began=began,
        )  # fmt: skip
        return moved

    def pin(self, tensor: torch.Tensor) -> torch.Tensor:
        """A page-locked copy of a host tensor; itself where it is one.

        Raises:
            RuntimeError: CUDA's, for a tensor on the device.
        """
        marks = self._recorder.marks
        mark = marks.of(tensor)
        if mark & CUDA:
            kind = f"torch.cuda.{torch._C.TensorBase.type(tensor).split('.')[-1]}"
            raise RuntimeError(f"cannot pin '{kind}' only dense CPU tensors can be pinned")
        if mark & PINNED:
            return tensor
        pinned = _to(tensor, device="cpu", copy=True)
        marks.add(pinned, PINNED)
        return pinned

    @staticmethod
    def _convert(
        tensor: torch.Tensor, dtype: torch.dtype | None, copy: bool, memory_format: torch.memory_format | None
    ) -> torch.Tensor:
        options: dict[str, Any] = {} if memory_format is None else {"memory_format": memory_format}  # Any: keyword arguments
        if dtype is None and not options and not copy:
            return tensor
        return _to(tensor, dtype=dtype or tensor.dtype, copy=copy, **options)


def _make_function(mover: Mover) -> Any:  # Any: an autograd.Function class, made here because it needs the session
    class Move(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, tensor: torch.Tensor, device: int, non_blocking: bool) -> torch.Tensor:  # Any: torch's context
            ctx.back = CUDA - device
            return mover.carry(tensor, device, non_blocking)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # Any: as torch's examples have it
            return mover.move(gradient, ctx.back), None, None

    return Move


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, bool, Any]:  # Any: what the user passed
    """Arguments of `Tensor.to` as (device, dtype, non_blocking, copy, memory_format); None: not given."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    rest = list(args)
    if rest and isinstance(rest[0], torch.Tensor):
        other = rest.pop(0)
        device, dtype = other.device, other.dtype
    elif rest and isinstance(rest[0], torch.dtype):
        dtype = rest.pop(0)
    elif rest:
        device = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], torch.dtype)):
            dtype = rest.pop(0)
    if "other" in kwargs:
        device, dtype = kwargs["other"].device, kwargs["other"].dtype
    non_blocking = bool(kwargs.get("non_blocking", rest.pop(0) if rest else False))
    copy = bool(kwargs.get("copy", rest.pop(0) if rest else False))
    return device, dtype, non_blocking, copy, kwargs.get("memory_format")
