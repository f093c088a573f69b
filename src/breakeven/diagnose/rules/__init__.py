"""One file per rule; the tuple of all rules is here, and where each one's finding stands."""

from __future__ import annotations

from typing import Final

from breakeven.diagnose.rule import Rank, Rule
from breakeven.diagnose.rules import (
    bandwidth_bound,
    compute_bound,
    cpu_oversubscription,
    denormals,
    device_mismatch,
    fp64,
    host_work,
    input_bound,
    launch_bound,
    memory,
    no_gpu_visible,
    padding,
    small_batch,
    small_kernel,
    sync_bound,
    timing_bug,
    transfer_bound,
    unfused_rnn,
    warmup,
)

#: Every rule. Those that lead stand here in the order in which they lead; the rest are ordered by their prices.
RULES: Final[tuple[Rule, ...]] = (
    Rule("device_mismatch", device_mismatch.device_mismatch, Rank.LEADS),
    Rule("cpu_oversubscription", cpu_oversubscription.cpu_oversubscription, Rank.LEADS),
    Rule("denormals", denormals.denormals, Rank.LEADS),
    Rule("timing_bug", timing_bug.timing_bug, Rank.LEADS),
    Rule("no_gpu_visible", no_gpu_visible.no_gpu_visible, Rank.ADVICE, leads_where=no_gpu_visible.gpu_wins),
    Rule("warmup", warmup.warmup, Rank.ADVICE, leads_where=warmup.meaningless),
    Rule("memory", memory.memory, leads_where=memory.too_large),
    Rule("unfused_rnn", unfused_rnn.unfused_rnn),
    Rule("launch_bound", launch_bound.launch_bound),
    Rule("sync_bound", sync_bound.sync_bound, least_share=0.01),
    Rule("transfer_bound", transfer_bound.transfer_bound),
    Rule("input_bound", input_bound.input_bound),
    Rule("host_work", host_work.host_work),
    Rule("padding", padding.padding),
    Rule("fp64", fp64.fp64),
    Rule("small_batch", small_batch.small_batch, overlaps="launch_bound", least_share=0.2),
    Rule("compute_bound", compute_bound.compute_bound, Rank.ADVICE),
    Rule("bandwidth_bound", bandwidth_bound.bandwidth_bound, Rank.ADVICE),
    Rule("small_kernel", small_kernel.small_kernel, Rank.ADVICE),
)
