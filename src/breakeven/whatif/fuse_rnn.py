"""One cuDNN call for a loop over time: a cell, or products and pointwise work by hand, repeated for every time step.

What else the loop does to each time step (a mask on the state, a read-out) goes with it, so the gain is an upper end where
the loop does much else.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call
from breakeven.timeline.time_loops import TimeLoop, time_loops

#: Rows of gates for each unit of the state, by cell.
_GATES = {"rnn": 1, "gru": 3, "lstm": 4}


def fuse_rnn(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream with one fused recurrent call, forward and backward, in the place of each loop over time.

    Waits, copies and host work within the loop stay. A cell of the user's own is left as it is.
    """
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    put: dict[int, Call] = {}
    kept = np.ones(len(stream), dtype=bool)
    for loop in time_loops(stream, sites):
        if loop.cell is None:
            continue
        for rows, suffix in ((loop.forward, ""), (loop.backward, "_backward")):
            if len(rows):
                kept[rows] = False
                kept[rows[0]] = True
                put[int(rows[0])] = _fused(loop, suffix, calls[call[rows[0]]])
    return edit.keep(edit.with_replaced(stream, put), kept, carry_host=False)


def _fused(loop: TimeLoop, suffix: str, like: Call) -> Call:
    width = loop.width or loop.hidden
    gates = _GATES[loop.cell or "rnn"] * loop.hidden
    sequence, states = (loop.passes, loop.batch, width), (loop.passes, loop.batch, loop.hidden)
    call = Call(
        op=f"cudnn::{loop.cell}{suffix}", kind=schema.Kind.COMPUTE, device=like.device,
        inputs=(sequence, (gates, width), (gates, loop.hidden)), input_dtypes=(like.dtype,) * 3,
        parameters=(False, True, True), outputs=(states,), dtype=like.dtype,
    )  # fmt: skip
    return edit.with_values(
        call, hidden=loop.hidden, input=width, layers=loop.layers, bidirectional=False, batch=loop.batch, timesteps=loop.passes,
        train=bool(len(loop.backward)),
    )  # fmt: skip
