"""Checkpoints and copies: `torch.save`, `torch.load(map_location=…)`, deepcopy and pickle keep a tensor's logical device."""

from __future__ import annotations

from functools import wraps
from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.calls import copy_call, host_call
from breakeven.capture.virtual.devices import names_cuda
from breakeven.capture.virtual.marks import CUDA, PARAMETER
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

#: Before torch's own taggers, of which the CPU's has 10.
_FIRST = 1


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch saving, loading and cloning of storages."""
    _locations(patches, recorder)
    _storages(patches, recorder)
    real = torch.save

    @wraps(real)
    def save(*args: Any, **kwargs: Any) -> None:  # Any: torch.save's own
        before, began = recorder.last, perf_counter_ns()
        row_of_copies = recorder.last_row
        recorder.folding += 1
        try:
            real(*args, **kwargs)
        finally:
            recorder.folding -= 1
        if recorder.last_row != row_of_copies:
            recorder.pending = 0
        recorder.host_row(host_call("save"), began, before)

    patches.set(torch, "save", save)
    patches.set(torch.serialization, "save", save)


def _locations(patches: Patches, recorder: Recorder) -> None:
    marks = recorder.marks

    def tag(storage: Any) -> str | None:  # Any: a typed or untyped storage
        bare = getattr(storage, "_untyped_storage", storage)
        if not marks.flags.get(bare._cdata, 0) & CUDA:
            return None
        _copied(recorder, "d2h", bare.nbytes())
        return "cuda:0"

    def restore(storage: Any, location: str) -> Any:  # Any: a typed or untyped storage
        if not location.startswith("cuda"):
            return None
        names_cuda(location)
        bare = getattr(storage, "_untyped_storage", storage)
        marks.add_storage(bare, CUDA)
        _copied(recorder, "h2d", bare.nbytes())
        return storage

    torch.serialization.register_package(_FIRST, tag, restore)
    entry = next(e for e in torch.serialization._package_registry if e[1] is tag)
    patches.on_undo(lambda: torch.serialization._package_registry.remove(entry))


def _copied(recorder: Recorder, direction: str, size: int) -> None:
    recorder.device_ops += 1
    if recorder.is_calm() and recorder.rows is not None:
        call = recorder.rows.number(copy_call(direction, (), None, size, False, False))
        recorder.last_row = recorder.add(call, 0, -2)


def _storages(patches: Patches, recorder: Recorder) -> None:
    marks = recorder.marks
    base: Any = torch.storage._StorageBase  # Any: torch leaves storages without annotations
    real_clone, real_deepcopy = base.clone, base.__deepcopy__
    keep = CUDA | PARAMETER

    def clone(self: Any) -> Any:  # Any: a storage
        made = real_clone(self)
        mark = marks.flags.get(self._cdata, 0) & keep
        if mark:
            marks.add_storage(made, mark)
        return made

    def deep(self: Any, memo: dict[Any, Any]) -> Any:  # Any: deepcopy's memory; a storage
        made = real_deepcopy(self, memo)
        mark = marks.flags.get(self._cdata, 0) & keep
        if mark:
            marks.add_storage(made, mark)
        return made

    def cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:  # Any: a storage; a device
        names_cuda(device)
        made = real_clone(self)
        marks.add_storage(made, CUDA)
        _copied(recorder, "h2d", made.nbytes())
        return made

    patches.set(base, "clone", clone)
    patches.set(base, "__deepcopy__", deep)
    patches.set(torch.UntypedStorage, "cuda", cuda)
    typed: Any = torch.storage.TypedStorage  # Any: as above
    real_typed = typed.cuda

    def typed_cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:  # Any: a storage; a device
        made = real_clone(self._untyped_storage)
        marks.add_storage(made, CUDA)
        return typed(wrap_storage=made, dtype=self.dtype, _internal=True)

    if real_typed is not None:
        patches.set(typed, "cuda", typed_cuda)
