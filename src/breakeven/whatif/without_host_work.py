"""Without side work of the host: checkpoints, cache emptying, debugging."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit

#: Host rows that are no part of training: their length is their `host_ns`.
SIDE_WORK = ("host::save", "host::empty_cache", "host::debug", "host::print")


def side_rows(stream: OpStream, sites: Collection[int] | None = None, ops: tuple[str, ...] = SIDE_WORK) -> NDArray[np.bool_]:
    """Rows of side work."""
    return edit.marked(stream, [call.op in ops for call in edit.calls_of(stream)], sites)


def without_host_work(stream: OpStream, sites: Collection[int] | None = None, ops: tuple[str, ...] = SIDE_WORK) -> OpStream:
    """The stream without this side work at these lines; its own time goes with it."""
    return edit.keep(stream, ~side_rows(stream, sites, ops), carry_host=False)
