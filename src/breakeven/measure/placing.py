"""A module, or a function, with its example, as a step on a device: on copies, so that the user's own are left as they were."""

from __future__ import annotations

import copy
import inspect
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from breakeven.errors import InputError
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.picking import Make


def step_maker(step_or_module: Callable[..., object], example: Sequence[object]) -> Make:
    """What makes the step for a device.

    A module's step is its call on the example, and the backward pass of the mean of what it returns where it is in training
    mode and learns (its own loss and optimizer are not known). A function's step is its call; one with a parameter `device`
    is given the device, and where it hands back something to call, that is the step. Tensors of the example are copied to the
    device in each step, as a loader's batches are; modules and optimizers among them are copied once.

    Raises:
        InputError: the function takes neither a device nor an example that could be moved to one.
    """
    import torch

    learns = torch.is_grad_enabled()
    is_module = isinstance(step_or_module, torch.nn.Module)
    takes_device = not is_module and _takes_device(step_or_module)
    if not callable(step_or_module):
        raise InputError(f"pick needs a module or a function, and was given a {type(step_or_module).__name__}")
    if not is_module and not takes_device and not any(_can_move(one) for one in example):
        raise InputError("the function needs a parameter `device`, or an example of tensors or modules to put on each device")
    state = {"device": None} if takes_device else {}

    def make(backend: Backend) -> Callable[[], object]:
        device = torch.device(backend.device)
        kept = copy.deepcopy((step_or_module if is_module else None, _once(example)))
        module: Any = kept[0]  # a torch module, or None
        once = kept[1]
        placed = {at: settled_on(one, device) for at, one in once.items()}
        named = dict.fromkeys(state, device)
        if module is not None:
            return _module_step(module.to(device), example, device, learns)
        first = [placed.get(at, one) for at, one in enumerate(example)]
        if takes_device and not example:
            made = step_or_module(**named)
            if callable(made) and not isinstance(made, (torch.nn.Module, torch.Tensor)):
                return _with_grad(made, learns)
        return _with_grad(lambda: step_or_module(*(_moved(one, device) for one in first), **named), learns)

    return make


def settled_on(one: Any, device: Any) -> Any:  # a module or an optimizer, and a torch.device
    """A module or an optimizer with all that it holds on a device: it is changed, so a copy is handed in.

    An optimizer's count of steps stays on the host where it is there, as PyTorch's optimizers have it.
    """
    import torch

    if isinstance(one, torch.nn.Module):
        return one.to(device)
    for state in one.state.values():
        for name, value in state.items():
            if isinstance(value, torch.Tensor) and not (name == "step" and value.device.type == "cpu"):
                state[name] = value.to(device)
    return one


@contextmanager
def random_kept() -> Iterator[None]:
    """The random generators go on afterwards where they were before."""
    import numpy as np
    import torch

    python, numpy, host = random.getstate(), np.random.get_state(), torch.random.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.random.set_rng_state(host)


def _module_step(module: Any, example: Sequence[object], device: Any, learns: bool) -> Callable[[], object]:  # torch's types
    import torch

    trains = learns and module.training and any(p.requires_grad for p in module.parameters())

    def step() -> object:
        with torch.set_grad_enabled(learns):
            out = module(*(_moved(one, device) for one in example))
            if trains:
                roots = [t.float().mean() for t in _tensors(out) if t.requires_grad]
                if roots:
                    module.zero_grad()
                    torch.autograd.backward(torch.stack(roots).sum())
            return out

    return step


def _with_grad(call: Callable[[], object], learns: bool) -> Callable[[], object]:
    """Whether gradients are kept is a thread's own setting, and the step runs on another one."""
    import torch

    def step() -> object:
        with torch.set_grad_enabled(learns):
            return call()

    return step


def _takes_device(function: Callable[..., object]) -> bool:
    try:
        return "device" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # built in
        return False


def _once(example: Sequence[object]) -> dict[int, object]:
    """Modules and optimizers, by place: they are copied together, so that an optimizer goes on with its module's parameters."""
    import torch

    return {at: one for at, one in enumerate(example) if isinstance(one, (torch.nn.Module, torch.optim.Optimizer))}


def _can_move(one: object) -> bool:
    return hasattr(one, "to") or (isinstance(one, (list, tuple, dict)) and any(True for _ in _tensors(one)))


def _moved(one: Any, device: Any) -> Any:  # whatever an example holds
    import torch

    if isinstance(one, (torch.nn.Module, torch.optim.Optimizer)):
        return one
    if isinstance(one, dict):
        return {name: _moved(value, device) for name, value in one.items()}
    if isinstance(one, tuple) and hasattr(one, "_fields"):
        return type(one)(*(_moved(value, device) for value in one))
    if isinstance(one, (list, tuple)):
        return type(one)(_moved(value, device) for value in one)
    return one.to(device) if hasattr(one, "to") else one


def _tensors(value: Any) -> Iterator[Any]:  # tensors in whatever a module returns
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors(one)
