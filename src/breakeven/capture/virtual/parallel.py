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

    def send(value: Any) -> Any:  # Any: nested arguments
        if isinstance(value, torch.Tensor):
            return mover.move(value, CUDA)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(send, value))
        if isinstance(value, (list, tuple)):
            return type(value)(map(send, value))
        return {k: send(v) for k, v in value.items()} if isinstance(value, dict) else value

    from torch.nn.parallel import scatter_gather

    # The batch is whole on the one device. torch's own would ask C++ for `torch.device(0)`, which a CPU build does not have.
    patches.set(scatter_gather, "scatter", lambda inputs, target_gpus, dim=0: [send(inputs)])
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
