"""The accelerator that is here, for a child that times a script on it."""

from __future__ import annotations

from functools import lru_cache

from breakeven.measure.backends.protocol import Backend
from breakeven.measure.known import present_backends

#: What a capture is told to call at each edge of a step, where an accelerator is here.
SYNCHRONISE = "breakeven.measure.present:synchronise"


@lru_cache(maxsize=1)
def accelerator() -> Backend | None:
    """The first device beside the CPU that can be used (asks PyTorch); None: there is none."""
    return next((backend for backend in present_backends() if backend.asynchronous), None)


def synchronise() -> None:
    """Wait until it has done all that it was asked to do; nothing to wait for where there is none."""
    found = accelerator()
    if found is not None:
        found.synchronise()
