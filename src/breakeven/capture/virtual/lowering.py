"""Runs a call that is many operations on the CPU and few on CUDA: hushed, and in the stream as what CUDA would run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import Any

import msgspec
import torch

from breakeven.capture.virtual.calls import DEVICE, dtype_name
from breakeven.capture.virtual.lowered import Lowered
from breakeven.capture.virtual.marks import CUDA, PARAMETER
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
        self._parts: dict[Hashable, int] = {}
        self._seen: set[Hashable] = set()

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
        counted = self._parts.get(key)
        if counted is None:
            out = self._count(real, key)
            spent = recorder.hushed_ns
        else:  # its operations are known: run them without looking
            guard = torch._C._DisableTorchDispatch()
            entered = perf_counter_ns()
            try:
                out = real()
            finally:
                del guard
            spent = perf_counter_ns() - entered
            recorder.mark_result(out, CUDA)
        recorder.device_ops += 1
        recorder.pending += 1
        if key not in self._seen:
            self._seen.add(key)
            recorder.novel += 1
        if recorder.rows is not None:
            found = self._forms.get(key)
            if found is None:
                found = self._forms[key] = _with_parts(form(out), self._parts[key])
            self._leave_rows(found, gap, start, weights, keeps_sums, spent)
        recorder.last = perf_counter_ns()
        return out

    def _count(self, real: Callable[[], Any], key: Hashable) -> Any:  # Any: result of any call
        """Run it hushed, to learn how many operations it is on the CPU."""
        recorder = self._recorder
        recorder.hush, recorder.hushed_ns, recorder.hushed_ops = recorder.hush + 1, 0, 0
        try:
            out = real()
        finally:
            recorder.hush -= 1
        self._parts[key] = recorder.hushed_ops
        return out

    def mark_of(self, tensor: torch.Tensor) -> int:
        """Marks of a tensor (see `Marks.of`)."""
        return self._recorder.marks.of(tensor)

    def _leave_rows(
        self, form: Form, gap: int, start: int, weights: Iterable[torch.Tensor], keeps_sums: bool, spent: int
    ) -> None:
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
            rows.cpu[first] = spent
        end = recorder.next_number()
        if end > start >= 0:
            numbers = tuple(rows.number(call) for call in form.backward)
            recorder.lowerings.enter(start, Lowered(end, numbers, site, frozenset(w.shape for w in weights), keeps_sums))


def _with_parts(form: Form, parts: int) -> Form:
    """The form, whose first call says how many CPU operations it stands for."""
    if parts <= 1 or not form.forward:
        return form
    first = form.forward[0]
    said = msgspec.json.decode(first.attributes) | {"cpu_ops": parts}
    return Form((replace(first, attributes=attributes(**said)), *form.forward[1:]), form.backward)


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
