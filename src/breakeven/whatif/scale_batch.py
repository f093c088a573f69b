"""Another batch size: the recorded stream with every activation's batch dimension scaled.

What it cannot know: which dimension is the batch where another has the same size (a hidden size equal to the batch is
told apart by position: the first such dimension of an activation is taken); which shapes depend on the batch in another
way than by a factor; whether the script draws more time steps, more Python or more loader work per sample (work in the
input phase is taken to grow with the batch); what happens to accuracy. With a batch of one no dimension stands out: then
those of size one, or else the leading dimension of each activation, are taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Products of two matrices: where which dimension is the batch follows from who is a parameter.
_PRODUCTS = ("aten::mm", "aten::addmm", "aten::mv", "aten::addmv")

#: Attributes that grow in proportion to the batch where the call itself does.
_GROWING = ("bytes", "elements")


def scale_batch(stream: OpStream, batch: int, *, today: int | None = None) -> OpStream:
    """The stream as it would be with `batch` samples per step.

    Args:
        stream: the recorded stream.
        batch: samples per step wanted.
        today: samples per step recorded; None: `stream.batch`.

    Returns:
        The scaled stream; its `cpu_ns` on rows of the host grow with the elements, on rows of the device they are left
        (what a larger batch costs a CPU depends on its peak and bandwidth: see `diagnose.break_even`).

    Raises:
        ValueError: the stream's batch is not known.
    """
    known = today if today is not None else stream.batch
    if known is None or known < 1 or batch < 1:
        raise ValueError(f"cannot scale a batch of {known} to {batch}")
    if batch == known:
        return stream
    calls = edit.calls_of(stream)
    scaling = _Scaling(known, batch, _parameter_shapes(calls))
    scaled = tuple(scaling.call(call) for call in calls)
    changed = replace(edit.with_calls(stream, scaled), batch=batch)
    return _host_grown(changed, stream, calls, scaled, batch / known)


@dataclass(frozen=True)
class _Scaling:
    today: int
    batch: int
    parameters: frozenset[tuple[int, ...]]

    def call(self, call: Call) -> Call:
        if call.op.startswith("cudnn::"):
            return self._recurrent(call)
        if call.op in _PRODUCTS:
            return self._product(call)
        flags = call.parameters or (False,) * len(call.inputs)
        inputs = tuple(shape if flag else self._shape(shape) for shape, flag in zip(call.inputs, flags, strict=False))
        grown = {old: new for old, new, flag in zip(call.inputs, inputs, flags, strict=False) if not flag}
        outputs = tuple(self._output(shape, grown) for shape in call.outputs)
        return _attributed(replace(call, inputs=inputs, outputs=outputs), call, self.batch / self.today)

    def _output(self, shape: tuple[int, ...], grown: dict[tuple[int, ...], tuple[int, ...]]) -> tuple[int, ...]:
        if shape in grown:
            return grown[shape]
        if shape in self.parameters or (grown and all(old == new for old, new in grown.items())):
            return shape
        return self._shape(shape)

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        axis = self._axis(shape)
        if axis is None:
            return shape
        return (*shape[:axis], self._size(shape[axis]), *shape[axis + 1 :])

    def _axis(self, shape: tuple[int, ...]) -> int | None:
        for axis, size in enumerate(shape):
            if size == self.today:
                return axis
        if self.today == 1:
            return 0 if shape else None
        for axis, size in enumerate(shape):
            if size and size % self.today == 0:
                return axis
        return None

    def _size(self, size: int) -> int:
        return max(1, round(size * self.batch / self.today))

    def _product(self, call: Call) -> Call:
        """Of `a @ b`: the batch is the shared dimension in a weight's gradient, else the dimension that no parameter has."""
        if len(call.inputs) < 2:
            return call
        *bias, a, b = call.inputs
        *_, a_fixed, b_fixed = call.parameters or (False,) * len(call.inputs)
        if a_fixed and b_fixed:
            return call
        out = call.outputs[0] if call.outputs else (*a[:-1], *b[1:])
        if a_fixed:
            b, out = (b[0], self._grown(b[1])) if len(b) > 1 else b, (*out[:1], *(self._grown(n) for n in out[1:]))
        elif not b_fixed and (out in self.parameters or out[::-1] in self.parameters):
            a, b = (*a[:-1], self._grown(a[-1])), (self._grown(b[0]), *b[1:])
        else:
            a, out = (self._grown(a[0]), *a[1:]), (self._grown(out[0]), *out[1:])
        return replace(call, inputs=(*bias, a, b), outputs=(out, *call.outputs[1:]))

    def _grown(self, size: int) -> int:
        return self._size(size) if self.today == 1 or size % self.today == 0 else size

    def _recurrent(self, call: Call) -> Call:
        values = edit.values_of(call)
        if values.get("batch") is not None:
            values["batch"] = self._size(int(values["batch"]))
        flags = call.parameters or (False,) * len(call.inputs)
        inputs = tuple(s if f else self._shape(s) for s, f in zip(call.inputs, flags, strict=False))
        outputs = tuple(s if s in self.parameters else self._shape(s) for s in call.outputs)
        return edit.with_values(replace(call, inputs=inputs, outputs=outputs), **values)


def elements(shapes: tuple[tuple[int, ...], ...]) -> int:
    """Elements of all tensors of these shapes together.

    >>> elements(((2, 3), (4,)))
    10
    """
    return sum(math.prod(shape) for shape in shapes)


def _parameter_shapes(calls: tuple[Call, ...]) -> frozenset[tuple[int, ...]]:
    return frozenset(s for call in calls for s, flag in zip(call.inputs, call.parameters, strict=False) if flag and len(s) > 0)


def _attributed(new: Call, old: Call, factor: float) -> Call:
    """The call with its own attributes of size scaled as its tensors were (a copy without shapes: by the batch)."""
    values = edit.values_of(old)
    growing = {name: values[name] for name in _GROWING if isinstance(values.get(name), int)}
    if not growing:
        return new
    before, after = elements(old.inputs + old.outputs), elements(new.inputs + new.outputs)
    if before:
        factor = after / before
    elif old.op == "copy::d2h":  # a scalar read back, as far as is known
        factor = 1.0
    return edit.with_values(new, **{name: max(1, round(value * factor)) for name, value in growing.items()})


def _host_grown(changed: OpStream, stream: OpStream, old: tuple[Call, ...], new: tuple[Call, ...], factor: float) -> OpStream:
    """Work of the host in the input phase: Python by the batch, operations by their elements."""
    before = np.array([max(1, elements(c.inputs + c.outputs)) for c in old], dtype=float)
    after = np.array([max(1, elements(c.inputs + c.outputs)) for c in new], dtype=float)
    call = edit.column(stream, schema.ROW_CALL)
    host_op = edit.marked(stream, [not edit.on_device(c) for c in old])
    feeding = edit.phases(stream) == schema.Phase.INPUT
    waiting = edit.marked(stream, [c.op == "host::input" for c in old])
    host = edit.host_ns(changed) * np.where(waiting | (feeding & host_op), factor, 1.0)
    cpu = edit.cpu_ns(stream) * np.where(host_op, (after / before)[call], 1.0)
    return edit.with_cpu(edit.with_host(changed, host), cpu)
