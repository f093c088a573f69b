"""One file per remedy that edits source; the tuple of all of them is here."""

from __future__ import annotations

from breakeven.remedies.edits.acts import (
    benchmark_off,
    benchmark_on,
    checkpoint_less,
    create_on_device,
    debug_off,
    detach_metrics,
    flush_denormals,
    fuse_rnn,
    fused_optimizer,
    hoist_projection,
    larger_batch,
    metrics_on_device,
    no_empty_cache,
    pin_memory,
    prefetch,
    set_to_none,
    tf32,
    threads,
)
from breakeven.remedies.edits.records import Edit

#: Every edit, by id in the order of the alphabet.
EDITS: tuple[Edit, ...] = (
    benchmark_off.EDIT,
    benchmark_on.EDIT,
    checkpoint_less.EDIT,
    create_on_device.EDIT,
    debug_off.EDIT,
    detach_metrics.EDIT,
    flush_denormals.EDIT,
    fuse_rnn.EDIT,
    fused_optimizer.EDIT,
    hoist_projection.EDIT,
    larger_batch.EDIT,
    metrics_on_device.EDIT,
    no_empty_cache.EDIT,
    pin_memory.EDIT,
    prefetch.EDIT,
    set_to_none.EDIT,
    tf32.EDIT,
    threads.EDIT,
)
