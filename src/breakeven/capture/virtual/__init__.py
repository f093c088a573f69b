"""The virtual GPU: runs a PyTorch script that hard-codes `cuda` on a build without CUDA, and records what CUDA would have run.

    session = install()          # patches torch, process-wide; `torch` must be importable
    session.start()              # at a step's edge: record from here
    session.edge()               # after every further step
    stream = session.stop()      # the frozen OpStream of the recorded steps
    session.facts                # {"device_mismatch": (Fact, …), "no_sync": …}
    session.uninstall()          # (or `with install() as session:`) puts everything back

Values are real (CPU arithmetic), so losses and control flow are those of the plain CPU run. It does not know how long anything
takes on a GPU.
"""

from __future__ import annotations

from breakeven.capture.virtual.facts import Fact
from breakeven.capture.virtual.session import Session, install

__all__ = ["Fact", "Session", "install"]
