"""`nn.DataParallel` on the one device, and threads of the user's own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.marks import CUDA
from breakeven.capture.virtual.moves import Mover
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder


def install(patches: Patches, recorder: Recorder, mover: Mover, shadow: Callable[[], Recorder]) -> None:
    """Patch what spreads a batch over devices, and what a thread runs."""

    def scatter(
        tensor: torch.Tensor, devices: Any = None, chunk_sizes: Any = None, dim: int = 0, streams: Any = None, *, out: Any = None
    ) -> tuple[torch.Tensor, ...]:  # Any: torch's own
        return (mover.move(tensor, CUDA),)

    from torch.nn.parallel import comm

    patches.set(comm, "scatter", scatter)
    patches.set(comm, "gather", lambda tensors, dim=0, destination=None, *, out=None: torch.cat(list(tensors), dim))
    patches.set(comm, "broadcast", lambda tensor, devices=None, *, out=None: (mover.move(tensor, CUDA),))
    real = threading.Thread.run

    def run(self: threading.Thread) -> None:
        """A mode sees its own thread only: this one gets a mode that marks and records nothing."""
        passive = shadow()
        target = getattr(self, "_target", None)
        with passive:
            real(self)
        code = getattr(target, "__code__", None)
        if passive.device_ops and (type(self) is not threading.Thread or (code is not None and recorder.sites.is_users(code))):
            recorder.notes.note(
                facts.USER_THREADS, "a thread of the script worked on the device; its operations are not in the recording",
                ops=passive.device_ops,
            )  # fmt: skip
            recorder.notes.warn("Device work in the script's own threads is not recorded.")

    patches.set(threading.Thread, "run", run)
