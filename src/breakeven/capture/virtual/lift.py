"""A script that never names cuda is lifted: its modules and what enters them become logically cuda; its data set stays."""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.marks import CUDA, MOVED, PARAMETER
from breakeven.capture.virtual.moves import Mover
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder


class Lift:
    """Moves a script's training to the device, as its owner would."""

    def __init__(self, recorder: Recorder, mover: Mover) -> None:
        self._recorder = recorder
        self._mover = mover
        self._moved: set[tuple[int, int, torch.Size]] = set()  # views of host storages that were copied in this step
        self._known: set[int] = set()

    def install(self, patches: Patches) -> None:
        """Patch optimizers' construction; `Outermost` calls `enter` for module calls."""
        recorder = self._recorder
        recorder.move = self.move
        patches.on_undo(lambda: setattr(recorder, "move", None))
        real = torch.optim.Optimizer.add_param_group
        lift = self

        def add_param_group(optimizer: Any, group: Any) -> None:  # Any: torch's own
            real(optimizer, group)
            for parameter in optimizer.param_groups[-1]["params"]:
                lift.place(parameter)

        patches.set(torch.optim.Optimizer, "add_param_group", add_param_group)

    def place(self, tensor: torch.Tensor) -> None:
        """A parameter or buffer is on the device from now on, in place."""
        recorder = self._recorder
        if not recorder.is_cuda(tensor):
            recorder.marks.add(tensor, CUDA | MOVED | PARAMETER)
            recorder.notes.note(
                facts.LIFTED, "the script does not name cuda; its modules and batches were moved for the prediction"
            )

    def enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:  # Any: a module's arguments
        """An outermost module call: its weights are on the device, and what it is given is sent there."""
        if id(module) not in self._known:
            self._known.add(id(module))
        for tensor in (*module.parameters(), *module.buffers()):
            self.place(tensor)
        return self._send(args), self._send(kwargs)

    def move(self, tensor: torch.Tensor) -> None:
        """A host tensor meets the device: it counts as sent; a batch of its own stays there, a view is sent once a step."""
        recorder = self._recorder
        began = perf_counter_ns()
        storage = torch._C.TensorBase.untyped_storage(tensor)
        if storage.nbytes() <= tensor.numel() * tensor.element_size():
            recorder.marks.add(tensor, CUDA | MOVED)
        else:
            key = (storage._cdata, int(tensor.storage_offset()), tensor.shape)
            if key in self._moved:
                return
            self._moved.add(key)
        recorder.copied("h2d", tensor, pinned=False, non_blocking=False, began=began)

    def edge(self) -> None:
        """A step has ended: what was sent in it is gone."""
        self._moved.clear()

    def _send(self, value: Any) -> Any:  # Any: a module's arguments
        if isinstance(value, torch.Tensor):
            if self._recorder.is_cuda(value):
                return value
            moved = self._mover.move(value, CUDA)
            self._recorder.marks.add(moved, MOVED)
            return moved
        if type(value) in (list, tuple):
            return type(value)(self._send(v) for v in value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self._send(v) for v in value))
        if type(value) is dict:
            return {k: self._send(v) for k, v in value.items()}
        return value
