"""Calls that are one thing on CUDA and many on the CPU: which autograd nodes belong to which of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

import torch

from breakeven.capture.virtual.autograd_node import NO_CALL

#: How the engine sums gradients.
_SUMS = ("aten::add", "aten::add_")


@dataclass
class Lowered:
    """One execution of such a call.

    Attributes:
        end: number after its last autograd node.
        backward: the calls that its backward is on CUDA.
        site: line that called it.
        shapes: shapes of its weights, whose gradients the engine adds up between the nodes.
        keeps_sums: these sums are rows of their own.
        row: first row of its backward; -1 until it runs.
        run: which run of the engine that was.
    """

    end: int
    backward: tuple[int, ...]
    site: int
    shapes: frozenset[torch.Size]
    keeps_sums: bool = False
    row: int = -1
    run: int = -1


class Lowerings:
    """Lowered calls by the range of their autograd nodes' numbers, which grow."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._calls: list[Lowered] = []
        self._last: Lowered | None = None

    def enter(self, start: int, lowered: Lowered) -> None:
        """A call has made the nodes `start` to `lowered.end`."""
        if lowered.end > start:
            self._starts.append(start)
            self._calls.append(lowered)

    def owner(self, number: int, name: str, args: Any) -> Lowered | None:  # Any: arguments of any operation
        """The call that the running backward operation belongs to, if any."""
        if not self._starts:
            return None
        if number == NO_CALL:  # the engine adds gradients of a weight that was used at each time step
            last = self._last
            if last is None or last.keeps_sums:
                return None
            return last if _sums(name, args, last) else None
        at = bisect_right(self._starts, number) - 1
        found = self._calls[at] if at >= 0 and number < self._calls[at].end else None
        self._last = found
        if found is not None and found.keeps_sums and _sums(name, args, found):
            return None
        return found

    def clear(self) -> None:
        """Forget all."""
        self._starts.clear()
        self._calls.clear()
        self._last = None


def _sums(name: str, args: Any, lowered: Lowered) -> bool:  # Any: arguments of any operation
    return name in _SUMS and isinstance(args[0], torch.Tensor) and args[0].shape in lowered.shapes
