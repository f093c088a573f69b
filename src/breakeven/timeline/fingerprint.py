"""A job's fingerprint: which operations a step asks for, and on which shapes; the same on every machine and on every day."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import msgspec
import numpy as np

from breakeven.timeline import schema
from breakeven.timeline.opstream import OpStream


def fingerprint(stream: OpStream) -> str:
    """The fingerprint of a recorded job, 16 hexadecimal digits.

    It holds each distinct operation that runs on a device or moves data, with its shapes and type, and how often a step asks
    for it. Times, lines of source and the number of recorded steps are no part of it, and neither is the host's own work.
    """
    issued = np.bincount(stream.rows[schema.ROW_CALL.name].to_numpy(), minlength=stream.calls.height)
    columns = [
        stream.calls[column.name].to_list()
        for column in (schema.CALL_OP, schema.CALL_KIND, schema.CALL_DEVICE, schema.CALL_INPUTS, schema.CALL_DTYPE)
    ]
    often: dict[tuple[str, str, str, str], int] = {}
    for op, kind, device, inputs, dtype, count in zip(*columns, issued.tolist(), strict=True):
        if count and kind in (schema.Kind.COMPUTE, schema.Kind.COPY):
            what = (op, device, msgspec.json.encode(inputs).decode(), dtype)
            often[what] = often.get(what, 0) + count
    said = [[*what, str(Fraction(count, max(1, stream.steps)))] for what, count in sorted(often.items())]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()[:16]
