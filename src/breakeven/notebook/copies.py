"""A cell as a step for one device, on copies of the session's variables that it needs: the session's own stay as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from breakeven.foreign import attempt
from breakeven.measure.placing import settled_on
from breakeven.notebook.names import needed


def cell_step(cell: str, code: CodeType, session: Mapping[str, Any]) -> Callable[..., Callable[[], object]]:
    """A function that takes `device`, and gives what runs the cell once there.

    Modules, optimizers and tensors that the cell needs are copied, together, and moved; what else it needs is copied where it
    can be. In the cell `device` is the device.

    Args:
        cell: its source.
        code: the same, compiled.
        session: the session's variables.
    """
    used = needed(cell)

    def make(device: Any) -> Callable[[], object]:  # a torch.device
        names = dict(session)
        names.update(_placed({name: session[name] for name in used if name in session}, device))
        names["device"] = device
        return lambda: exec(code, names)

    return make


def _placed(values: dict[str, Any], device: Any) -> dict[str, Any]:  # the session's variables
    import torch

    movable = {k: v for k, v in values.items() if isinstance(v, (torch.nn.Module, torch.optim.Optimizer, torch.Tensor))}
    others = {k: v for k, v in values.items() if k not in movable and isinstance(v, (list, dict, set))}
    both = attempt(lambda: copy.deepcopy({**movable, **others}))
    copied: dict[str, Any] = both.value if both.value is not None else copy.deepcopy(movable)  # a list may hold what cannot be
    for name, value in copied.items():
        if isinstance(value, torch.Tensor):
            moved = value.detach().to(device).requires_grad_(value.requires_grad)
            copied[name] = moved
        elif isinstance(value, (torch.nn.Module, torch.optim.Optimizer)):
            settled_on(value, device)
    return copied
