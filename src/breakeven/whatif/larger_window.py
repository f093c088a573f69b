"""A larger window: more time steps in one call and one optimizer step, where a loop sends them through one by one."""

from __future__ import annotations

from dataclasses import replace

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Attribute of a recurrent call: its time steps.
TIMESTEPS = "timesteps"


def windowed_calls(stream: OpStream) -> tuple[bool, ...]:
    """For each distinct call: it is a fused recurrent call over a single time step."""
    return tuple(call.op.startswith("cudnn::") and edit.values_of(call).get(TIMESTEPS) == 1 for call in edit.calls_of(stream))


def larger_window(stream: OpStream, factor: int) -> OpStream:
    """The stream whose step does the work of `factor` recorded ones: recurrent calls over as many time steps.

    The leading dimension of every other activation grows with it; parameters, host and optimizer do not. Gradients then
    flow through the whole window, which is another (usually better) training than one update per time step.
    """
    calls = edit.calls_of(stream)
    if factor == 1 or not any(windowed_calls(stream)):
        return stream
    fixed = frozenset(s for c in calls for s, flag in zip(c.inputs, c.parameters, strict=False) if flag)
    return edit.with_calls(stream, [_grown(call, factor, fixed) for call in calls])


def _grown(call: Call, factor: int, fixed: frozenset[tuple[int, ...]]) -> Call:
    if call.kind not in (schema.Kind.COMPUTE, schema.Kind.COPY):
        return call
    flags = call.parameters or (False,) * len(call.inputs)
    inputs = tuple(s if f else _longer(s, factor) for s, f in zip(call.inputs, flags, strict=False))
    outputs = tuple(s if s in fixed else _longer(s, factor) for s in call.outputs)
    changed = replace(call, inputs=inputs, outputs=outputs)
    values = edit.values_of(call)
    if values.get(TIMESTEPS) == 1:
        changed = edit.with_values(changed, **{TIMESTEPS: factor})
    if isinstance(values.get("bytes"), int) and inputs != call.inputs:
        changed = edit.with_values(changed, bytes=values["bytes"] * factor)
    return changed


def _longer(shape: tuple[int, ...], factor: int) -> tuple[int, ...]:
    return (shape[0] * factor, *shape[1:]) if shape else shape
