"""The outermost module call of a step: what enters it tells the batch, and it is where a lifted script's batch is sent."""

from __future__ import annotations

from typing import Any

import torch

from breakeven.capture.virtual.calls import tensors
from breakeven.capture.virtual.lift import Lift
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder


class Outermost:
    """Watches module calls."""

    def __init__(self, recorder: Recorder, lift: Lift | None) -> None:
        self._recorder = recorder
        self._lift = lift
        self._depth = 0
        self.batch: int | None = None
        self._learned = False  # whether that call could learn: one that cannot (an agent that acts) gives way to one that can

    def install(self, patches: Patches) -> None:
        """Patch `nn.Module.__call__`."""
        real: Any = torch.nn.Module.__call__  # Any: torch's own
        watch = self

        def call(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:  # Any: a module's arguments and result
            if watch._depth or not watch._recorder.is_mine() or watch._recorder.folding:
                return real(module, *args, **kwargs)
            if watch._recorder.rows is not None:
                watch._look(module, args, kwargs)
            watch._depth += 1
            try:
                if watch._lift is not None:
                    args, kwargs = watch._lift.enter(module, args, kwargs)
                return real(module, *args, **kwargs)
            finally:
                watch._depth -= 1

        patches.set(torch.nn.Module, "__call__", call)

    def _look(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:  # Any: a module's arguments
        learns = torch.is_grad_enabled()
        if (self.batch is None or (learns and not self._learned)) and any(True for _ in module.parameters()):
            self.batch = _leading(args, kwargs)
            self._learned = learns


def _leading(args: Any, kwargs: Any) -> int | None:  # Any: a module's arguments
    first = next((t for t in tensors(args) + tensors(kwargs.values()) if t.dim()), None)
    return None if first is None else int(first.shape[0])
