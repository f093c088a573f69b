"""One file per rule of imported timelines; the tuple of all of them is here."""

from __future__ import annotations

from typing import Final

from breakeven.diagnose.imported.rule import TraceRule
from breakeven.diagnose.imported.rules import (
    convolutions,
    graphs,
    input_wait,
    kernels,
    launches,
    memory_calls,
    occupancy,
    optimizers,
    padded,
    peers,
    precision,
    recurrence,
    set_up,
    transfers,
    waits,
)
from breakeven.diagnose.rule import Rank

#: Every rule: the priced ones are ordered by their price, advice comes after them.
TRACE_RULES: Final[tuple[TraceRule, ...]] = (
    TraceRule("input_bound", input_wait.input_bound),
    TraceRule("launch_bound", launches.launch_bound),
    TraceRule("sync_bound", waits.sync_bound),
    TraceRule("transfer_bound", transfers.transfer_bound),
    TraceRule("warmup", set_up.warmup),
    TraceRule("memory", memory_calls.memory),
    TraceRule("unfused_rnn", recurrence.unfused_rnn),
    TraceRule("optimizer_loop", optimizers.optimizer_loop),
    TraceRule("cudnn_fallback", convolutions.cudnn_fallback),
    TraceRule("padding", padded.padding, Rank.ADVICE),
    TraceRule("graph_launch", graphs.graph_launch, Rank.ADVICE),
    TraceRule("communication", peers.communication, Rank.ADVICE),
    TraceRule("small_kernel", kernels.small_kernel, Rank.ADVICE, least_share=0.05),
    TraceRule("compute_bound", kernels.compute_bound, Rank.ADVICE, least_share=0.05),
    TraceRule("bandwidth_bound", kernels.bandwidth_bound, Rank.ADVICE, least_share=0.05),
    TraceRule("tf32", precision.tf32, Rank.ADVICE, least_share=0.1),
    TraceRule("fp64", precision.fp64, Rank.ADVICE),
    TraceRule("occupancy", occupancy.occupancy, Rank.ADVICE),
)
