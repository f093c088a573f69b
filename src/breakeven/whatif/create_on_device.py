"""Made on the device: a tensor that the host only makes to send it over is made where it is used."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema

#: Operations that make a tensor out of nothing.
MAKERS = (
    "randn", "rand", "randint", "randperm", "zeros", "ones", "full", "arange", "eye", "linspace", "normal_", "uniform_",
    "random_", "bernoulli_", "fill_", "zero_", "empty", "new_zeros", "new_ones", "new_full", "zeros_like", "ones_like",
    "rand_like", "randn_like",
)  # fmt: skip

#: What sends it over.
TO_DEVICE = "copy::h2d"


def made_and_sent(stream: OpStream, sites: Collection[int] | None = None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(rows on the host that make a tensor, rows that send it over); a pair has one shape and step, and lies close"""
    calls = edit.calls_of(stream)
    makes = edit.marked(stream, [_maker(c.op) and not edit.on_device(c) for c in calls], sites)
    sends = edit.marked(stream, [c.op == TO_DEVICE for c in calls])
    call, step, site = (edit.column(stream, c) for c in (schema.ROW_CALL, schema.ROW_STEP, schema.ROW_SITE))
    made, sent = np.zeros(len(stream), dtype=bool), np.zeros(len(stream), dtype=bool)
    copies = np.flatnonzero(sends)
    for row in np.flatnonzero(makes):
        after = copies[(copies > row) & (step[copies] == step[row])]
        if not len(after):
            continue
        first = int(after[0])
        near = first - int(row) <= 2 or (site[first] == site[row] and site[row] >= 0)
        shapes = calls[call[first]].inputs
        if near and (not shapes or not calls[call[row]].outputs or shapes[0] == calls[call[row]].outputs[0]):
            made[row] = sent[first] = True
    return made, sent


def create_on_device(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream whose made-and-sent tensors are made on the device, and not sent.

    It does not know about random numbers: the device draws others from the same seed.
    """
    made, sent = made_and_sent(stream, sites)
    if not made.any():
        return stream
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    device = next(c.device for c in calls if edit.on_device(c))
    put = {int(row): replace(calls[call[row]], device=device) for row in np.flatnonzero(made)}
    return edit.keep(edit.with_replaced(stream, put), ~sent)


def _maker(op: str) -> bool:
    return op.startswith("aten::") and op.removeprefix("aten::") in MAKERS
