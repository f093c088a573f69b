"""Without copies between host and device: the data are already where they are needed."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit

#: The two directions over the link; `copy::d2d` stays on the device and is no copy in this sense.
OVER_THE_LINK = ("copy::h2d", "copy::d2h")


def copy_rows(stream: OpStream, sites: Collection[int] | None = None, ops: tuple[str, ...] = OVER_THE_LINK) -> NDArray[np.bool_]:
    """Rows that copy between host and device."""
    return edit.marked(stream, [call.op in ops for call in edit.calls_of(stream)], sites)


def without_copies(stream: OpStream, sites: Collection[int] | None = None, ops: tuple[str, ...] = OVER_THE_LINK) -> OpStream:
    """The stream without the copies at these lines, and without the waits of those that the host waited for.

    Syncs stay: a value that is read still has to be computed before it is read.
    """
    return edit.keep(stream, ~copy_rows(stream, sites, ops))
