"""One file per check; the tuple of all of them is here, in the order of their codes."""

from __future__ import annotations

from breakeven.lint.check import Check
from breakeven.lint.checks import (
    benchmark_varying,
    debugging_left_on,
    devices_meet,
    double_precision,
    emptied_cache,
    evaluation_records,
    first_call_timed,
    hidden_read,
    input_projection,
    kept_graphs,
    loader_by_row,
    loader_in_process,
    made_on_host,
    many_copies,
    optimizer_one_by_one,
    read_each_step,
    saved_each_step,
    stopwatch,
    too_many_threads,
    unfused_cell,
    window_per_step,
    zeroed_gradients,
)

CHECKS: tuple[Check, ...] = (
    read_each_step.CHECK,
    hidden_read.CHECK,
    made_on_host.CHECK,
    many_copies.CHECK,
    loader_in_process.CHECK,
    loader_by_row.CHECK,
    unfused_cell.CHECK,
    window_per_step.CHECK,
    input_projection.CHECK,
    optimizer_one_by_one.CHECK,
    zeroed_gradients.CHECK,
    double_precision.CHECK,
    evaluation_records.CHECK,
    stopwatch.CHECK,
    first_call_timed.CHECK,
    benchmark_varying.CHECK,
    too_many_threads.CHECK,
    debugging_left_on.CHECK,
    emptied_cache.CHECK,
    saved_each_step.CHECK,
    devices_meet.CHECK,
    kept_graphs.CHECK,
)
