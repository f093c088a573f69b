"""A for-each optimizer: what it does to each parameter by itself is done to all of them in one call."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Operations of a per-parameter optimizer that have a for-each form, without their trailing underscore.
_FORMS = ("add", "mul", "div", "sub", "addcmul", "addcdiv", "lerp", "sqrt", "neg", "maximum", "zero", "copy", "reciprocal", "pow")

#: From so many calls of one operation in one optimizer step on it works parameter by parameter.
MANY = 4


def single_rows(stream: OpStream) -> NDArray[np.bool_]:
    """Rows of an optimizer that works parameter by parameter."""
    rows = edit.marked(stream, [_form(call) is not None for call in edit.calls_of(stream)])
    rows &= edit.phases(stream) == schema.Phase.OPTIMIZER
    group = _groups(stream)
    counts = np.bincount(group[rows], minlength=int(group.max(initial=0)) + 1)
    many: NDArray[np.bool_] = rows & (counts[group] >= MANY)
    return many


def foreach_optimizer(stream: OpStream) -> OpStream:
    """The stream with one `aten::_foreach_…` call for all parameters in the place of one call for each.

    A fused optimizer does still less; its price is not in this.
    """
    rows = single_rows(stream)
    if not rows.any():
        return stream
    calls = edit.calls_of(stream)
    call = edit.column(stream, schema.ROW_CALL)
    group = _groups(stream)
    put, kept = {}, ~rows
    for one in np.unique(group[rows]):
        members = np.flatnonzero(rows & (group == one))
        put[int(members[0])] = _together([calls[call[row]] for row in members])
        kept[members[0]] = True
    return edit.keep(edit.with_replaced(stream, put), kept, carry_host=False)


def _form(call: Call) -> str | None:
    name = call.op.removeprefix("aten::").removesuffix("_")
    return name if call.op.startswith("aten::") and name in _FORMS and edit.on_device(call) else None


def _groups(stream: OpStream) -> NDArray[np.int64]:
    """One number per (step, operation): shapes differ from parameter to parameter."""
    names: defaultdict[str, int] = defaultdict()
    names.default_factory = names.__len__
    op = np.array([names[call.op] for call in edit.calls_of(stream)], dtype=np.int64)
    return edit.column(stream, schema.ROW_STEP) * (len(names) + 1) + op[edit.column(stream, schema.ROW_CALL)]


def _together(members: list[Call]) -> Call:
    name = members[0].op.removeprefix("aten::")
    return edit.with_values(
        replace(
            members[0],
            op=f"aten::_foreach_{name}",
            inputs=tuple(s for c in members for s in c.inputs),
            input_dtypes=tuple(d for c in members for d in c.input_dtypes),
            parameters=tuple(p for c in members for p in c.parameters),
            outputs=tuple(s for c in members for s in c.outputs),
        ),
        tensors=len(members),
    )
