"""The private accessors of autograd that the recorder relies on, with a check and a fallback, in this one file.

A node of the graph has a sequence number that grows with every node its thread makes. So the nodes made by a forward call have
the numbers between two readings of the counter, and a backward operation belongs to the call whose range holds its node's number.
Without the accessors (tried on torch 2.13) numbers are -1: backward operations are then blamed on the line of `backward()`, and
fused layers show their parts in backward.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

#: No node is running, or this torch does not tell.
NO_CALL = -1
#: The running node belongs to no forward call: it adds up a leaf's gradient.
ACCUMULATE = -2


def next_number() -> Callable[[], int]:
    """A function that tells the number that the next node made on this thread will have."""
    read = getattr(torch._C._autograd, "_get_sequence_nr", None)
    return read if callable(read) and isinstance(read(), int) else lambda: NO_CALL


def running_number() -> Callable[[], int]:
    """A function that tells the number of the node whose backward is running; `NO_CALL` where none is."""
    current = getattr(torch._C, "_current_autograd_node", None)
    if not callable(current) or not supported():
        return lambda: NO_CALL

    def number() -> int:
        node = current()
        if node is None:
            return NO_CALL
        found: int = node._sequence_nr()
        return found if found < 1 << 62 else ACCUMULATE

    return number


def supported() -> bool:
    """Whether this torch tells which node is running and in which order nodes were made."""
    probe = torch.zeros((), requires_grad=True) + 0
    node = probe.grad_fn
    return (
        hasattr(torch._C, "_current_autograd_node")
        and hasattr(torch._C._autograd, "_get_sequence_nr")
        and hasattr(node, "_sequence_nr")
    )
