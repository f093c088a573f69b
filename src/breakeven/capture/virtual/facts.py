"""What the recording noticed beside operations: plain records, each with the source lines it was seen at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from breakeven.timeline import Site


@dataclass(frozen=True)
class Fact:
    """One thing noticed.

    Attributes:
        kind: what (the constants below).
        sentence: one sentence for the reader.
        sites: source lines, the most telling first.
        values: JSON values that say how much.
    """

    kind: str
    sentence: str
    sites: tuple[Site, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)  # JSON values


#: Kinds of facts.
DEVICE_MISMATCH = "device_mismatch"  # values: op, devices; a CPU tensor met a cuda one
IS_AVAILABLE = "is_available"  # torch.cuda.is_available() was asked
NO_SYNC = "no_sync"  # two clock reads with device work and no wait between them; sites: both reads
FIRST_CALL = "first_call"  # a timed region holds the first device work of its kind
DENORMALS = "denormals"  # values: fraction, elements
FLOAT64 = "float64"  # compute in float64 on the device; values: ops, rows
THREADS = "threads"  # more torch threads than cores; values: threads, cores
CUDNN_BENCHMARK = "cudnn_benchmark"  # torch.backends.cudnn.benchmark = True
ANOMALY = "anomaly"  # autograd anomaly mode is on
AUTOCAST = "autocast"  # values: dtype
COMPILE = "compile"  # torch.compile, recorded as eager
GENERATOR = "generator"  # a generator on cuda draws from the CPU's
USER_THREADS = "user_threads"  # a thread of the user's did device work
UNFUSED_RNN = "unfused_rnn"  # cuDNN's conditions fail; values: why
UNSUPPORTED = "unsupported"  # a name that the virtual GPU does not answer
LOADER = "loader"  # a recorded step took a batch from a DataLoader; values: workers, in_memory, by_row, batch, pinned
PADDING = "padding"  # values: total, real, timesteps, longest, packed
LIFTED = "lifted"  # the script never names cuda: its modules and batches were moved
