"""Ears in PyTorch for the length of a watch: optimizer steps, backward passes, waits for the next batch; all taken out again."""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from breakeven.measure.watching.rhythm import BACKWARD, FORWARD, OPTIMIZER, REST, Rhythm

#: What `breakeven.step()` calls, where it is there.
STEP_NAME: Final = "__breakeven_step__"
#: What can end a step, the best first.
MARK, ROUND, STEP = 0, 1, 2


class Ears:
    """Listens while it is entered, on the thread that entered it.

    Attributes:
        rank: what ends a step: a mark of the user's, a round of the watched loop, or an optimizer's step.
        optimizers: that have stepped, in the order of their first.
        loss: the latest root of a backward pass, if it is a single number.
    """

    def __init__(self, rhythm: Rhythm, on_edge: Callable[[int], None]) -> None:
        self.rhythm, self.on_edge = rhythm, on_edge
        self.rank = STEP
        self.optimizers: list[Any] = []  # torch's
        self.loss: Any = None  # a tensor
        self._only: Any = None  # the one optimizer that ends each step: the usual case, and a short way for it
        self._seen: set[int] = set()
        self._stack = ExitStack()
        self._thread = 0

    def __enter__(self) -> Ears:
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        self._thread = threading.get_ident()
        for handle in (register_optimizer_step_pre_hook(self._before), register_optimizer_step_post_hook(self._after)):
            self._stack.callback(handle.remove)
        self._listen_to_backward()
        self._listen_to_loaders()
        self._listen_to_marks()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def hear_rounds(self) -> None:
        """The watch itself is looped over from here on: its rounds are the steps, unless the user marks them."""
        if self.rank == STEP:
            self.rank, self._only = ROUND, None

    def fetched(self, took: int) -> None:
        """The watched loop waited for its next value."""
        self.rhythm.input(took)

    def round(self) -> None:
        """A round of the watched loop ends."""
        if self.rank == ROUND:
            self.on_edge(self.rhythm.edge(REST if self._seen else FORWARD))
            self._seen.clear()

    def _before(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:  # as torch calls it
        if threading.get_ident() == self._thread:
            self.rhythm.part(REST)

    def _after(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:  # as torch calls it
        if threading.get_ident() != self._thread:
            return
        if optimizer is self._only:
            self.on_edge(self.rhythm.edge(OPTIMIZER))
            return
        key = id(optimizer)
        if key not in self._seen:
            self._seen.add(key)
            if all(known is not optimizer for known in self.optimizers):
                self.optimizers.append(optimizer)
                self._only = optimizer if self.rank == STEP and len(self.optimizers) == 1 else None
                if self.rhythm.open is None and self.rank == STEP:
                    self.rhythm.opened(self.rhythm.began)
        if self.rank == STEP and key == id(self.optimizers[-1]):
            self.on_edge(self.rhythm.edge(OPTIMIZER))
            self._seen.clear()
        else:
            self.rhythm.part(OPTIMIZER)

    def _listen_to_backward(self) -> None:
        import torch

        whole, rhythm = torch.autograd.backward, self.rhythm

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> None:  # passed on as they are
            if threading.get_ident() != self._thread:
                return whole(tensors, *args, **kwargs)
            rhythm.part(FORWARD)
            whole(tensors, *args, **kwargs)
            rhythm.part(BACKWARD)
            self.loss = tensors
            return None

        self._replace(torch.autograd, "backward", backward)

    def _listen_to_loaders(self) -> None:
        from torch.utils.data import dataloader

        base: Any = dataloader._BaseDataLoaderIter  # a private class
        fetch, rhythm = base.__next__, self.rhythm

        def following(iterator: Any) -> Any:  # a loader's iterator, and whatever it yields
            if self.rank == ROUND:  # the watched loop is where input is waited for
                return fetch(iterator)
            began = rhythm.clock()
            out = fetch(iterator)
            rhythm.input(rhythm.clock() - began)
            return out

        self._replace(base, "__next__", following)

    def mark(self) -> None:
        """The user's own mark: a step begins, and the one before ends."""
        if self.rank != MARK:
            self.rank, self._only = MARK, None
            self.rhythm.leave()
        self.on_edge(self.rhythm.edge(REST if self._seen else FORWARD))
        self._seen.clear()

    def _listen_to_marks(self) -> None:
        before = getattr(builtins, STEP_NAME, None)
        setattr(builtins, STEP_NAME, self.mark)
        self._stack.callback(setattr, builtins, STEP_NAME, before)

    def _replace(self, owner: Any, name: str, value: Any) -> None:  # a module's or a class's function
        before = getattr(owner, name)
        value.__name__, value.__doc__, value.__wrapped__ = name, before.__doc__, before
        setattr(owner, name, value)

        def restore() -> None:
            if getattr(owner, name) is value:  # else somebody put theirs on top: it goes on to what was there
                setattr(owner, name, before)

        self._stack.callback(restore)
