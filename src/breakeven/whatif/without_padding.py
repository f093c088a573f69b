"""Without padding: sequences grouped by length, so that a batch is hardly longer than its real content.

What it cannot know: which of two dimensions of one size is the time (the batch comes first or second: the dimension of
the batch's size is not taken for the time unless both are equal); loops written step by step keep their number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from breakeven.timeline import OpStream, edit
from breakeven.timeline.opstream import Call


def without_padding(stream: OpStream, timesteps: int, real_share: float) -> OpStream:
    """The stream with its time dimension cut to the real part.

    Args:
        stream: the stream.
        timesteps: length that the batches are padded to now.
        real_share: part of their elements that is no padding, over 0 to 1.

    Returns:
        The stream with every dimension of `timesteps` (and of batch times `timesteps`) cut to that share.

    Raises:
        ValueError: the share is not between 0 and 1.
    """
    if not 0 < real_share <= 1:
        raise ValueError(f"real_share is {real_share}, not between 0 and 1")
    if timesteps < 2:
        return stream
    cut = _Cut(timesteps, max(1, round(timesteps * real_share)), stream.batch)
    return edit.with_calls(stream, [cut.call(call) for call in edit.calls_of(stream)])


@dataclass(frozen=True)
class _Cut:
    old: int
    new: int
    batch: int | None

    def call(self, call: Call) -> Call:
        flags = call.parameters or (False,) * len(call.inputs)
        inputs = tuple(s if f else self._shape(s) for s, f in zip(call.inputs, flags, strict=False))
        outputs = tuple(self._shape(s) for s in call.outputs)
        changed = replace(call, inputs=inputs, outputs=outputs)
        values = edit.values_of(call)
        if values.get("timesteps") == self.old:
            changed = edit.with_values(changed, timesteps=self.new)
        if isinstance(values.get("bytes"), int) and inputs != call.inputs:
            changed = edit.with_values(changed, bytes=max(1, round(values["bytes"] * self.new / self.old)))
        return changed

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if shape and self.batch and self.batch > 1 and shape[0] == self.batch * self.old:
            return (self.batch * self.new, *shape[1:])
        axes = [axis for axis, size in enumerate(shape[:2]) if size == self.old]
        if not axes:
            return shape
        axis = axes[-1] if self.batch == self.old and len(axes) > 1 else axes[0]
        return (*shape[:axis], self.new, *shape[axis + 1 :])
