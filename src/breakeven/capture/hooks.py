"""Ears in PyTorch: optimizer steps, backward passes, waits for the next batch, the size of a batch. Child process only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
from torch.utils._python_dispatch import TorchDispatchMode

from breakeven.capture.series import Batch
from breakeven.capture.steps import Steps


def listen(steps: Steps, clock: Callable[[], int]) -> Batch:
    """Put all ears in place; they stay until the process ends."""
    register_optimizer_step_post_hook(steps.on_optimizer)
    _listen_to_backward(steps)
    batch = Batch()
    _listen_to_loader(steps, batch, clock)
    return batch


def _listen_to_backward(steps: Steps) -> None:
    whole, part = torch.autograd.backward, torch.autograd.grad

    def backward(*args: Any, **kwargs: Any) -> None:  # passed on as they are
        whole(*args, **kwargs)
        steps.on_backward()

    def grad(*args: Any, **kwargs: Any) -> Any:  # passed on as they are
        out = part(*args, **kwargs)
        if torch.compiler.is_compiling():  # what is compiled has no room for ears
            return out
        steps.on_backward()
        return out

    _patch(torch.autograd, "backward", backward)
    _patch(torch.autograd, "grad", grad)


def _listen_to_loader(steps: Steps, batch: Batch, clock: Callable[[], int]) -> None:
    from torch.utils.data import dataloader

    base = dataloader._BaseDataLoaderIter
    fetch = base.__next__

    def following(self: Any) -> Any:  # a loader's iterator: a private class
        began = clock()
        out = fetch(self)
        steps.wait_ns += clock() - began
        if batch.from_loader is None:
            batch.from_loader = _leading(out) or 0
        return out

    base.__next__ = following  # type: ignore[method-assign]  # the ear itself


#: So many module calls without gradients are passed over before one of them is taken for the step's own.
PATIENCE: Final = 50


def catch_batch(batch: Batch) -> Callable[[], None]:
    """Look at the next outermost module call that may learn, once, and at no later one; returns what gives up looking.

    Calls without gradients (an agent that acts, a validation) count only where no other comes among the next `PATIENCE`. A
    recurrent network that is not `batch_first` has its batch in the second dimension.
    """
    module = torch.nn.Module
    ordinary = module.__call__
    left = PATIENCE

    def restore() -> None:
        module.__call__ = ordinary  # type: ignore[method-assign]  # puts back what was there

    def looking(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:  # passed on as they are
        nonlocal left
        left -= 1
        learns = torch.is_grad_enabled()
        if learns or left <= 0:
            restore()
        if batch.from_module is None or learns:
            batch.from_module = _batch_of(self, [*args, *kwargs.values()])
            _ask_cell(self, batch)
        return ordinary(self, *args, **kwargs)

    module.__call__ = looking  # type: ignore[method-assign]  # the ear itself
    return restore


def _batch_of(module: torch.nn.Module, values: list[Any]) -> int | None:  # whatever a forward takes
    for value in values:
        tensor = _first_tensor(value)
        if tensor is None or tensor.dim() == 0:
            continue
        recurrent = next((m for m in module.modules() if isinstance(m, torch.nn.RNNBase)), None)
        second = recurrent is not None and not recurrent.batch_first and tensor.dim() >= (3 if tensor.is_floating_point() else 2)
        return int(tensor.shape[1 if second else 0])
    return None


def _ask_cell(module: torch.nn.Module, batch: Batch) -> None:
    """A network of cells is called with time in front as often as not: the first cell's own input tells the batch."""
    cell = next((m for m in module.modules() if isinstance(m, torch.nn.RNNCellBase) and m is not module), None)
    if cell is None:
        return

    def look(_cell: torch.nn.Module, args: tuple[Any, ...]) -> None:  # whatever a cell takes
        handle.remove()
        tensor = _first_tensor(list(args))
        if tensor is not None and tensor.dim() == 2:
            batch.from_module = int(tensor.shape[0])

    handle = cell.register_forward_pre_hook(look)


def _leading(value: Any) -> int | None:  # whatever a loader yields
    tensor = _first_tensor(value)
    return int(tensor.shape[0]) if tensor is not None and tensor.dim() else None


def _first_tensor(value: Any) -> torch.Tensor | None:  # nested containers of anything
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return next((t for t in map(_first_tensor, value) if t is not None), None)
    return None


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves its class hook without annotations
    @classmethod
    def _should_skip_dynamo(cls) -> bool:  # True would import the whole compiler, seconds, at the first operation
        return False

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self.seen = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # any operation
        self.seen += 1
        return func(*args, **(kwargs or {}))


def count_operations() -> Callable[[], int]:
    """Begin to count tensor operations on this thread; the function returned ends it and says how many there were."""
    counter = _Counter()
    counter.__enter__()  # type: ignore[no-untyped-call]  # as above

    def end() -> int:
        from torch.utils._python_dispatch import _get_current_dispatch_mode

        if _get_current_dispatch_mode() is counter:
            counter.__exit__(None, None, None)  # type: ignore[no-untyped-call]  # as above
        return counter.seen

    return end


def _patch(owner: Any, name: str, value: Any) -> None:  # a module's function
    value.__name__, value.__doc__ = name, getattr(owner, name).__doc__
    value.__wrapped__ = getattr(owner, name)
    setattr(owner, name, value)
