"""Fused pointwise chains, as a compiler makes them: neighbouring elementwise operations of one shape become one kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Elementwise operations, without their trailing underscore.
_POINTWISE = (
    "add", "sub", "mul", "div", "pow", "exp", "log", "sqrt", "rsqrt", "neg", "abs", "tanh", "sigmoid", "relu", "gelu", "silu",
    "leaky_relu", "elu", "clamp", "clamp_min", "clamp_max", "where", "masked_fill", "native_dropout", "dropout",
    "threshold_backward",
    "tanh_backward", "sigmoid_backward", "gelu_backward", "silu_backward", "addcmul", "addcdiv", "lerp", "eq", "ne", "gt", "lt",
    "ge",
    "le", "logical_not", "bitwise_and", "bitwise_or", "sin", "cos", "square", "reciprocal", "erf", "softplus", "_to_copy",
)  # fmt: skip


def chained_rows(stream: OpStream) -> NDArray[np.bool_]:
    """Rows that a compiler would fold into the elementwise row after them: same phase, same shape, nothing else between."""
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    running = np.flatnonzero(edit.marked(stream, [edit.on_device(c) and c.kind == schema.Kind.COMPUTE for c in calls]))
    pointwise = np.array([_pointwise(c) for c in calls], dtype=bool)
    shapes = [c.outputs[0] if c.outputs else c.inputs[0] if c.inputs else () for c in calls]
    numbers = {shape: n for n, shape in enumerate(dict.fromkeys(shapes))}
    shape = np.array([numbers[s] for s in shapes], dtype=np.int64)
    phase, step = edit.phases(stream), edit.column(stream, schema.ROW_STEP)
    a, b = running[:-1], running[1:]
    folds = pointwise[call[a]] & pointwise[call[b]] & (shape[call[a]] == shape[call[b]])
    folds &= (phase[a] == phase[b]) & (step[a] == step[b]) & (phase[a] != schema.Phase.OPTIMIZER)
    rows = np.zeros(len(stream), dtype=bool)
    rows[a[folds]] = True
    return rows


def fused_pointwise(stream: OpStream) -> OpStream:
    """The stream with each chain of elementwise operations folded into its last.

    The kernel that is left is priced as the last operation was: operands that only earlier members read are not in it, so
    the gain is an upper end for long chains. What a compiler fuses besides (reductions, products' ends) is not in it.
    """
    return edit.keep(stream, ~chained_rows(stream))


def _pointwise(call: Call) -> bool:
    return call.op.startswith("aten::") and call.op.removeprefix("aten::").removesuffix("_") in _POINTWISE
