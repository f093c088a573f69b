"""Operations that are not just run on CUDA: copies between devices, and those after which the host waits for a result."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.calls import DEVICE, tensors
from breakeven.capture.virtual.marks import CUDA, PINNED
from breakeven.capture.virtual.mismatch import note
from breakeven.capture.virtual.plans import Plan
from breakeven.capture.virtual.recorder import Recorder
from breakeven.capture.virtual.rows import BACKWARD, FORWARD
from breakeven.timeline import schema
from breakeven.timeline.opstream import Call

#: Operation → how its wait is named, and how many bytes it reads back. CUDA sources: the size of a data-dependent result is read
#: with a device-to-host copy (`aten/src/ATen/native/cuda`: Nonzero.cu, IndexKernel.cpp, Unique.cu, Repeat.cu, Equal.cpp).
_WAITS = {
    "aten::nonzero": ("nonzero", 8),
    "aten::masked_select": ("nonzero", 8),
    "aten::_unique2": ("unique", 8),
    "aten::_unique": ("unique", 8),
    "aten::unique_dim": ("unique", 8),
    "aten::unique_consecutive": ("unique", 8),
    "aten::unique_dim_consecutive": ("unique", 8),
    "aten::bincount": ("bincount", 16),
    "aten::equal": ("equal", 1),
    "aten::_linalg_check_errors": ("check", 4),
}


def specials(recorder: Recorder) -> dict[str, Callable[..., Any]]:  # Any: any operation
    """Handlers by operation name, for `Recorder.specials`."""
    handlers = _Handlers(recorder)
    table: dict[str, Callable[..., Any]] = dict.fromkeys(_WAITS, handlers.waiting)  # Any: as above
    table |= {
        "aten::_local_scalar_dense": handlers.scalar,
        "aten::repeat_interleave": handlers.repeat,
        "aten::index": handlers.index,
        "aten::index_put_": handlers.index,
        "aten::_index_put_impl_": handlers.index,
        "aten::index_put": handlers.index,
        "aten::copy_": handlers.copy,
        "aten::detach": handlers.detach,
        "aten::_pack_padded_sequence": handlers.pack,
    }
    return table


class _Handlers:
    """Each takes what `Recorder.common` takes and gives what it gives."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def scalar(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        recorder = self._recorder
        tensor = args[0]
        if not recorder.is_cuda(tensor):
            return recorder.common(plan, args, kwargs, began)
        out = plan.run(*args)
        recorder.device_ops += 1
        recorder.waited(recorder.tag or "item", tensor.element_size(), began=began)
        return out

    def waiting(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        recorder = self._recorder
        out = recorder.common(plan, args, kwargs, began)
        if any(recorder.is_cuda(t) for t in tensors(args)):
            recorder.waited(*_WAITS[plan.func._schema.name])
        return out

    def repeat(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        recorder = self._recorder
        out = recorder.common(plan, args, kwargs, began)
        size = kwargs.get("output_size", args[1] if len(args) > 1 else None)
        if not isinstance(size, int) and any(recorder.is_cuda(t) for t in tensors(args)):
            recorder.waited("repeat_interleave", 8)
        return out

    def index(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        recorder = self._recorder
        target, indices = args[0], args[1]
        if recorder.is_cuda(target):
            masks = [i for i in indices if i is not None and i.dtype in (torch.bool, torch.uint8)]
            value = args[2] if len(args) > 2 else None
            if value is not None and len(masks) == 1 and value.numel() == 1 and not (len(args) > 3 and args[3]):
                return self._masked_fill(plan, args, kwargs, masks[0], began)
            for mask in masks:
                self._nonzero(mask, began)
                began = recorder.last
            for each in indices:
                if each is not None and not recorder.is_cuda(each) and each.dim():
                    recorder.copied("h2d", each, pinned=False, non_blocking=False, began=began)
                    began = recorder.last
            if value is not None and value.dim() and not recorder.is_cuda(value):
                recorder.meet(plan, args, kwargs)
        elif any(recorder.is_cuda(t) for t in tensors(args)):
            recorder.meet(plan, args, kwargs)
        return recorder.common(plan, args, kwargs, began)

    def _masked_fill(self, plan: Plan, args: Any, kwargs: Any, mask: torch.Tensor, began: int) -> Any:  # Any: any operation
        """One mask and one value: CUDA fills without asking how many; a value on the device is read first."""
        recorder = self._recorder
        if recorder.is_cuda(args[2]):
            recorder.waited("item", args[2].element_size(), began=began)
            began = recorder.last
        recorder.hush += 1
        out = recorder.common(plan, args, kwargs, began)
        recorder.hush -= 1
        self._compute("aten::masked_fill_", (args[0], mask), began, args[0].shape)
        return out

    def _nonzero(self, mask: torch.Tensor, began: int) -> None:
        recorder = self._recorder
        if recorder.is_cuda(mask):
            self._compute("aten::nonzero", (mask,), began, None)
            recorder.waited("nonzero", 8)

    def _compute(self, name: str, inputs: tuple[torch.Tensor, ...], began: int, output: torch.Size | None) -> None:
        recorder = self._recorder
        recorder.device_ops += 1
        recorder.pending += 1
        if recorder.is_calm() and recorder.rows is not None:
            call = Call(
                op=name, kind=schema.Kind.COMPUTE, device=DEVICE, inputs=tuple(tuple(t.shape) for t in inputs),
                input_dtypes=tuple(str(t.dtype).removeprefix("torch.") for t in inputs), parameters=(False,) * len(inputs),
                outputs=() if output is None else (tuple(output),), dtype=str(inputs[0].dtype).removeprefix("torch."),
            )  # fmt: skip
            recorder.last_row = recorder.add(recorder.rows.number(call), max(began - recorder.last, 0))
        recorder.last = perf_counter_ns()

    def copy(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        recorder = self._recorder
        to, source = recorder.marks.of(args[0]), recorder.marks.of(args[1])
        if (to ^ source) & CUDA == 0:
            return recorder.common(plan, args, kwargs, began)
        non_blocking = bool(kwargs.get("non_blocking", args[2] if len(args) > 2 else False))
        host = source if to & CUDA else to
        out = plan.run(*args, **kwargs)
        recorder.copied(
            "h2d" if to & CUDA else "d2h", args[1], pinned=bool(host & PINNED), non_blocking=non_blocking, began=began
        )
        return out

    def pack(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        """Lengths are host data: torch refuses others; the sizes of the steps are host data too."""
        recorder = self._recorder
        lengths = args[1]
        if recorder.is_cuda(lengths):
            text = "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"
            note(recorder, "pack_padded_sequence", [lengths], text)
            recorder.copied("d2h", lengths, pinned=False, non_blocking=False, began=began)
            began = recorder.last
        data, sizes = recorder.common(plan, args, kwargs, began)
        recorder.marks.drop(sizes, ~0)
        if not recorder.is_cuda(args[0]):
            recorder.marks.drop(data, CUDA)
        return data, sizes

    def detach(self, plan: Plan, args: Any, kwargs: Any, began: int) -> Any:  # Any: any operation
        """Autograd detaches what it saves: no call of the user's, and no operation under CUDA either."""
        recorder = self._recorder
        if recorder.rows is None or recorder.hush:
            return recorder.common(plan, args, kwargs, began)
        if recorder.phase == BACKWARD:
            internal = recorder.running_number() >= 0
            if not internal and recorder.accumulated is not None:
                recorder.accumulated(args[0])
        else:
            internal = recorder.phase == FORWARD and recorder.is_same_spot()
        if internal:
            out = plan.run(*args)
            recorder.last += perf_counter_ns() - began
            return out
        return recorder.common(plan, args, kwargs, began)
