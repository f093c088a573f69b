"""Single precision: what computes in float64 computes in float32."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Double precision, and what takes its place.
DOUBLE, SINGLE = "float64", "float32"


def double_rows(stream: OpStream, sites: Collection[int] | None = None) -> NDArray[np.bool_]:
    """Rows that compute in float64, or move it."""
    doubles = [call.kind in (schema.Kind.COMPUTE, schema.Kind.COPY) and _double(call) for call in edit.calls_of(stream)]
    return edit.marked(stream, doubles, sites)


def float32(stream: OpStream, sites: Collection[int] | None = None) -> OpStream:
    """The stream in single precision at these lines; copies carry half the bytes.

    Times measured on the CPU are left as they are. It does not know whether the accuracy is needed.
    """
    if sites is None:
        return edit.with_calls(stream, [_single(call) for call in edit.calls_of(stream)])
    return edit.with_mapped(stream, double_rows(stream, sites), _single)


def _double(call: Call) -> bool:
    return call.dtype == DOUBLE or DOUBLE in call.input_dtypes


def _single(call: Call) -> Call:
    if not _double(call):
        return call
    single = replace(
        call,
        dtype=SINGLE if call.dtype == DOUBLE else call.dtype,
        input_dtypes=tuple(SINGLE if dtype == DOUBLE else dtype for dtype in call.input_dtypes),
    )
    size = edit.values_of(call).get("bytes")
    return edit.with_values(single, bytes=size // 2) if call.kind == schema.Kind.COPY and isinstance(size, int) else single
