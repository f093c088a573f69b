"""The product with the input taken out of a loop over time: it needs no state, so all time steps can go through it at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call
from breakeven.timeline.time_loops import TimeLoop, time_loops

_PRODUCTS = ("aten::addmm", "aten::mm", "aten::linear", "aten::matmul")


def hoist_projection(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream with one product for all time steps in the place of the loop's products with the input.

    Only the forward products are merged; their gradients are left as they are, so the gain is a lower end.
    """
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    kept = np.ones(len(stream), dtype=bool)
    put: dict[int, Call] = {}
    for loop in time_loops(stream, sites):
        counts = Counter(call[loop.forward].tolist())
        for one in (c for c, n in counts.items() if n >= loop.passes - 1 and _projects(calls[c], loop)):
            rows = loop.forward[call[loop.forward] == one]
            kept[rows[1:]] = False
            put[int(rows[0])] = _longer(calls[one], loop.passes)
    return edit.keep(edit.with_replaced(stream, put), kept) if put else stream


def _projects(call: Call, loop: TimeLoop) -> bool:
    if not loop.projected_inside or call.op not in _PRODUCTS:
        return False
    moving = [s for s, flag in zip(call.inputs, call.parameters, strict=False) if not flag and s]
    return bool(moving) and moving[0][-1] == loop.width and moving[0][-1] != loop.hidden


def _longer(call: Call, passes: int) -> Call:
    flags = call.parameters or (False,) * len(call.inputs)
    inputs = tuple(s if f or not s else (s[0] * passes, *s[1:]) for s, f in zip(call.inputs, flags, strict=False))
    outputs = tuple((s[0] * passes, *s[1:]) if s else s for s in call.outputs)
    return replace(call, inputs=inputs, outputs=outputs)
