"""Data loading: time inside a `DataLoader` is one row of host input; its worker processes are left in peace."""

from __future__ import annotations

from functools import wraps
from time import perf_counter_ns
from typing import Any

from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset, _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.calls import host_call
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder
from breakeven.capture.virtual.rows import INPUT


def install(patches: Patches, recorder: Recorder) -> None:
    """Patch the loader's iterator and its worker's main function."""
    patches.set(_BaseDataLoaderIter, "__next__", _noted(recorder, _as_input(recorder, _BaseDataLoaderIter.__next__)))
    patches.set(DataLoader, "__iter__", _as_input(recorder, DataLoader.__iter__))
    real = _utils.worker._worker_loop

    @wraps(real)
    def worker(*args: Any, **kwargs: Any) -> Any:  # Any: torch's own
        recorder.off = True
        with _disable_current_modes():
            return real(*args, **kwargs)

    patches.set(_utils.worker, "_worker_loop", worker)


def _noted(recorder: Recorder, following: Any) -> Any:  # Any: a method of torch's loader
    @wraps(following)
    def method(self: Any) -> Any:  # Any: as above
        if recorder.is_calm() and recorder.is_mine() and not recorder.folding:
            recorder.notes.here(facts.LOADER, "the step takes its batch from this loader", **_how(self))
        return following(self)

    return method


def _how(iterator: Any) -> dict[str, object]:  # Any: a loader's iterator, a private class
    """How a loader makes its batches, as `results.facts.Loader` has it."""
    held = iterator._dataset
    while isinstance(held, Subset):
        held = held.dataset
    sampler = iterator._index_sampler
    return {
        "workers": iterator._num_workers,
        "in_memory": True if isinstance(held, TensorDataset) else None,
        "by_row": None if isinstance(held, IterableDataset) else iterator._auto_collation and not hasattr(held, "__getitems__"),
        "batch": getattr(sampler, "batch_size", None) if iterator._auto_collation else None,
        "pinned": iterator._pin_memory,
    }


def _as_input(recorder: Recorder, real: Any) -> Any:  # Any: a method of torch's loader
    @wraps(real)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as above
        if recorder.folding or not recorder.is_mine():
            return real(self, *args, **kwargs)
        before, began = recorder.last, perf_counter_ns()
        phase, recorder.phase = recorder.phase, INPUT
        recorder.folding += 1
        try:
            return real(self, *args, **kwargs)
        finally:
            recorder.folding -= 1
            recorder.host_row(host_call("input"), began, before)
            recorder.phase = phase

    return method
