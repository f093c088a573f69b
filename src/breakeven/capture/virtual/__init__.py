"""The virtual GPU: runs a PyTorch script that hard-codes `cuda` on a build without CUDA, and records what CUDA would have run.

    session = install()          # patches torch, process-wide
    session.start()              # at a step's edge: record from here
    session.edge()               # after every further step
    stream = session.stop()      # the frozen OpStream of the recorded steps
    session.facts                # {"device_mismatch": (Fact, …), "no_sync": …}
    session.uninstall()          # (or `with install() as session:`) puts everything back

Values are real (CPU arithmetic), so losses and control flow are those of the plain CPU run. It does not know how long anything
takes on a GPU. Importing this package imports no torch; `install` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from breakeven.capture.virtual.facts import Fact

if TYPE_CHECKING:
    from breakeven.capture.virtual.session import Session
    from breakeven.machine.records import Gpu

__all__ = ["Fact", "install"]


def install(*, lift: bool = False, repair: bool = True, gpu: Gpu | None = None) -> Session:
    """Patch torch so that `cuda` is answered by stand-ins, process-wide.

    Args:
        lift: move a script that never names cuda: modules, optimizer state and what enters the outermost module call.
        repair: record a CPU tensor that meets a cuda one and go on as if it had been moved; else raise CUDA's error.
        gpu: what `torch.cuda.get_device_name()` and its like answer; a Tesla T4 where not given.

    Returns:
        The session, not yet recording.
    """
    from breakeven.capture.virtual.session import open_session

    return open_session(lift=lift, repair=repair, gpu=gpu)
