"""Runs a call that is many operations on the CPU and few on CUDA: hushed, and in the stream as what CUDA would run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.calls import DEVICE, dtype_name
from breakeven.capture.virtual.lowered import Lowered
from breakeven.capture.virtual.marks import PARAMETER
from breakeven.capture.virtual.recorder import Recorder
from breakeven.timeline import schema
from breakeven.timeline.opstream import Call, attributes


@dataclass(frozen=True)
class Form:
    """What a call is on CUDA: its operations forward, and those of its backward."""

    forward: tuple[Call, ...]
    backward: tuple[Call, ...]


class Lowerer:
    """Runs such calls for one session; forms are kept by key, as a loop makes the same call again and again."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._forms: dict[Hashable, Form] = {}

    def run(
        self, real: Callable[[], Any], key: Hashable, form: Callable[[Any], Form],
        weights: Iterable[torch.Tensor] = (), *, keeps_sums: bool = False,
    ) -> Any:  # fmt: skip  # Any: result of any call
        """Run `real` hushed; `form` tells what stands for it, given its result, once per `key`.

        `keeps_sums`: gradients of the weights are summed over calls by the engine on CUDA too (cells; a layer sums inside).
        """
        recorder = self._recorder
        if recorder.hush or recorder.off or not recorder.is_mine():
            return real()
        began = perf_counter_ns()
        gap, start = began - recorder.last, recorder.next_number()
        recorder.hush, recorder.hushed_ns, recorder.hushed_ops = recorder.hush + 1, 0, 0
        try:
            out = real()
        finally:
            recorder.hush -= 1
        recorder.device_ops += 1
        recorder.pending += 1
        if recorder.rows is not None:
            found = self._forms.get(key)
            if found is None:
                found = self._forms[key] = form(out)
            self._leave_rows(found, gap, start, weights, keeps_sums)
        recorder.last = perf_counter_ns()
        return out

    def mark_of(self, tensor: torch.Tensor) -> int:
        """Marks of a tensor (see `Marks.of`)."""
        return self._recorder.marks.of(tensor)

    def _leave_rows(self, form: Form, gap: int, start: int, weights: Iterable[torch.Tensor], keeps_sums: bool) -> None:
        recorder = self._recorder
        rows = recorder.rows
        assert rows is not None
        site = recorder.sites.here(3)
        phase = recorder.phase
        first = len(rows)
        for call in form.forward:
            at = rows.add(rows.number(call), phase, site, gap)
            gap = 0
        if form.forward:
            recorder.last_row = at
            rows.cpu[first] = recorder.hushed_ns
            rows.parts[first] = recorder.hushed_ops
        end = recorder.next_number()
        if end > start >= 0:
            numbers = tuple(rows.number(call) for call in form.backward)
            recorder.lowerings.enter(start, Lowered(end, numbers, site, frozenset(w.shape for w in weights), keeps_sums))


def device_call(
    name: str, inputs: Sequence[tuple[torch.Tensor, int]] = (), outputs: Sequence[Sequence[int]] = (), *,
    shapes: Sequence[tuple[Sequence[int], bool]] | None = None, dtype: str | None = None, **said: Any,
) -> Call:  # fmt: skip  # Any: JSON values
    """A call on the device, from tensors with their marks, or from shapes (with whether each is a parameter's)."""
    if shapes is None:
        found = [(tuple(t.shape), dtype_name(t, m), bool(m & PARAMETER)) for t, m in inputs]
    else:
        found = [(tuple(shape), dtype or "float32", parameter) for shape, parameter in shapes]
    return Call(
        op=name,
        kind=schema.Kind.COMPUTE,
        device=DEVICE,
        inputs=tuple(f[0] for f in found),
        input_dtypes=tuple(f[1] for f in found),
        parameters=tuple(f[2] for f in found),
        outputs=tuple(tuple(o) for o in outputs),
        dtype=dtype or (found[0][1] if found else ""),
        attributes=attributes(**said),
    )

