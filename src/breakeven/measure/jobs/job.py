"""What a job is: something to call, how much work that is, and which settings make sense for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Asked:
    """What a job is made for.

    Attributes:
        device: PyTorch's name of the device.
        size: what the job's table says.
        dtype: PyTorch's name of the type, `float32`.
        channels_last: store images so, where the job has images.
    """

    device: str
    size: int
    dtype: str = "float32"
    channels_last: bool = False

    def torch_dtype(self) -> Any:  # torch's types are unknown where it is not installed
        """The type as PyTorch's object."""
        import torch

        return getattr(torch, self.dtype)


@dataclass(frozen=True)
class Job:
    """Ready to be called.

    Attributes:
        call: does it once.
        flops: floating-point operations of a call; None: not counted.
        moved: bytes that a call moves at least; None: not counted.
        epoch: calls in an epoch; None: no training step.
        images: it has images, so that `channels_last` applies.
        compiles: what `torch.compile` may wrap: a call again; None: nothing.
    """

    call: Callable[[], object]
    flops: float | None = None
    moved: float | None = None
    epoch: int | None = None
    images: bool = False


Make = Callable[[Asked], Job]
