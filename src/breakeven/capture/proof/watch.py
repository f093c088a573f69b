"""Writes down what a step computes: its losses, the gradients that its optimizers were handed, the parameters that they left.

Child process only. While nobody compares, nothing of this is in the script's way.
"""

from __future__ import annotations

import functools
import hashlib
import io
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from breakeven.capture import outcome
from breakeven.capture.proof.messages import NUMBERS

#: Losses that are kept for a race between two reports.
_MOST_LOSSES = 1_000_000
#: Elements up to which a tensor is always kept whole.
_SMALL = 1024


class Watch:
    """Ears on one arm's numbers; `compare` and `follow` switch them on and off."""

    def __init__(self, folder: str, bytes_per_step: int) -> None:
        self.folder, self.bytes_per_step = folder, bytes_per_step
        self.losses: list[torch.Tensor] = []
        self._gradients: dict[str, torch.Tensor | None] = {}
        self._optimizers: list[torch.optim.Optimizer] = []
        self._spent: list[int] = []
        self._hook: Any = None  # torch's handle, a private class
        self._backward: Any = None  # the function that was there

    def compare(self, on: bool) -> None:
        """Begin or end writing down all numbers."""
        if on and self._hook is None:
            self._hook = register_optimizer_step_pre_hook(self._before_step)
        elif not on and self._hook is not None:
            self._hook.remove()
            self._hook = None
        self.follow(on)

    def follow(self, on: bool) -> None:
        """Begin or end keeping the losses."""
        if on and self._backward is None:
            self._backward = ordinary = torch.autograd.backward

            def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:  # passed on as they are
                self._note(tensors)
                ordinary(tensors, *args, **kwargs)

            torch.autograd.backward = backward
        elif not on and self._backward is not None:
            torch.autograd.backward = self._backward
            self._backward = None

    def hear_compiled(self) -> None:
        """From now on single numbers without a graph that a compiled function hands back count as losses, unless no gradient was
        wanted: a backward pass may be within it, and what is compiled calls no function of Python's that could be heard."""
        ordinary: Any = torch.compile  # its many forms

        def compiled(model: Any = None, **options: Any) -> Any:  # as `torch.compile`: a function, a module, or a decorator
            if model is None:
                return lambda given: compiled(given, **options)
            made = ordinary(model, **options)
            if isinstance(model, torch.nn.Module):
                return made

            @functools.wraps(made)
            def called(*args: Any, **kwargs: Any) -> Any:  # passed on as they are
                known = len(self.losses)
                out = made(*args, **kwargs)
                if self._backward is not None and len(self.losses) == known and torch.is_grad_enabled():
                    given = out if isinstance(out, tuple | list) else (out,)
                    self._note([t for t in given if isinstance(t, torch.Tensor) and t.numel() == 1 and not t.requires_grad])
                return out

            return called

        torch.compile = compiled

    def time_optimizers(self) -> None:
        """Begin timing every optimizer's step, to the end of this process."""
        clock, spent = time.thread_time_ns, self._spent
        began = 0

        def before(*_args: Any) -> None:  # as torch calls it
            nonlocal began
            began = clock()

        def after(*_args: Any) -> None:  # as torch calls it
            spent.append(clock() - began)

        register_optimizer_step_pre_hook(before)
        register_optimizer_step_post_hook(after)

    def spent(self) -> list[int]:
        """The times of optimizers' steps since the last call, ns."""
        found = self._spent.copy()
        self._spent.clear()
        return found

    def taken(self) -> list[float]:
        """The losses since the last call; roots that are no single number by their mean."""
        found = [float(t.double().mean()) for t in self.losses]
        self.losses.clear()
        return found

    def forget(self) -> None:
        """What was seen so far belongs to no whole step."""
        self.losses.clear()
        self._gradients.clear()

    def write(self, step: int) -> None:
        """A compared step has ended: write its numbers to a file of the arm's folder."""
        with torch.no_grad():
            found = {f"losses/{k}": loss for k, loss in enumerate(self.losses)}
            found |= {f"gradients/{k}": g for k, g in self._gradients.items() if g is not None}
            found |= {f"parameters/{k}": p.detach() for k, p in self._named()}
            total = sum(t.numel() * t.element_size() for t in found.values())
            every = max(1, -(-total // self.bytes_per_step))
            arrays: dict[str, NDArray[Any]] = {}  # Any: of several dtypes
            for name, tensor in found.items():
                whole = _array(tensor)
                arrays[name] = whole.ravel()[:: every if whole.size > _SMALL else 1]
                arrays[f"digest/{name}"] = np.frombuffer(_digest(whole, tensor), dtype=np.uint8)
        self.forget()
        held = io.BytesIO()
        np.savez(held, **arrays)  # type: ignore[arg-type]  # numpy declares a keyword of its own among them
        outcome.write_bytes(self.folder, NUMBERS.format(step=step), held.getvalue())

    def _note(self, tensors: Any) -> None:  # a tensor or a sequence of them
        roots: Sequence[Any] = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
        if len(self.losses) < _MOST_LOSSES:
            self.losses += [t.detach().clone() for t in roots if isinstance(t, torch.Tensor)]

    def _before_step(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:  # as torch calls it
        if not any(o is optimizer for o in self._optimizers):
            self._optimizers.append(optimizer)
        place = next(i for i, o in enumerate(self._optimizers) if o is optimizer)
        for k, parameter in enumerate(_parameters(optimizer)):
            grad = parameter.grad
            self._gradients[f"{place}.{k}"] = None if grad is None else grad.detach().clone()

    def _named(self) -> list[tuple[str, torch.Tensor]]:
        return [(f"{i}.{k}", p) for i, o in enumerate(self._optimizers) for k, p in enumerate(_parameters(o))]


def _parameters(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def _array(tensor: torch.Tensor) -> NDArray[Any]:  # of its own dtype where NumPy has it
    here = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    here = here.cpu().contiguous()
    if here.dtype in (torch.bfloat16, torch.float16):
        here = here.float()  # exact
    return here.resolve_conj().resolve_neg().numpy()


def _digest(whole: NDArray[Any], tensor: torch.Tensor) -> bytes:  # of any dtype
    said = f"{tuple(tensor.shape)}{tensor.dtype}".encode()
    return hashlib.blake2b(said + whole.tobytes(), digest_size=16).digest()
