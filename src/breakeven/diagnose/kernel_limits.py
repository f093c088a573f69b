"""What limits a kernel that its source says nothing about: a reading of its name and length, used for imported traces.

What it does not know: shapes. A kernel of a matrix product counts as limited by arithmetic even where it is skinny.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl

from breakeven.timeline import Timeline, schema
from breakeven.timeline.coded import Coded, coded
from breakeven.timeline.intervals import Ints
from breakeven.timeline.schema import Kind
from breakeven.timeline.timeline import column

#: Kernels up to this length are mostly fixed cost: twice the floor of a kernel, 2-4 µs (docs/account.md; small_kernels of
#: public measurements agree).
SMALL_NS: Final = 8_000

#: Parts of the names that cuBLAS, cuDNN, CUTLASS, MIOpen, rocBLAS and Triton give to products and convolutions.
_ARITHMETIC: Final = r"(?i)gemm|conv|cutlass|xmma|winograd|wgrad|dgrad|cijk_|_mm_|bmm|attention|flash|fft|lstm|gru|rnn|trsm|getrf"
_TOLD: Final = "told"  # a column within this file
_COLLECTIVE: Final = r"(?i)nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
_ON_DEVICE_COPY: Final = r"(?i)dtod|d2d|device *-> *device|memset|copybuffer"
_BETWEEN_DEVICES: Final = r"(?i)ptop|p2p|peer"


def device_cause() -> pl.Expr:
    """Account's cause of the time in which a device event runs: an expression over the columns of events."""
    name, kind = pl.col(schema.EVENT_NAME.name), pl.col(schema.EVENT_KIND.name)
    limit, cause = pl.col(schema.EVENT_LIMIT.name), pl.col(schema.EVENT_CAUSE.name)
    known = ("compute", "bandwidth", "small_kernel")
    return (
        pl.when(cause == "warmup").then(pl.lit("warmup"))
        .when(kind == Kind.COMMUNICATION).then(pl.lit("communication"))
        .when((kind == Kind.COPY) & name.str.contains(_BETWEEN_DEVICES)).then(pl.lit("communication"))
        .when((kind == Kind.COPY) & name.str.contains(_ON_DEVICE_COPY)).then(pl.lit("bandwidth"))
        .when(kind == Kind.COPY).then(pl.lit("copy"))
        .when(limit.is_in(known)).then(limit)
        .when(name.str.contains(_COLLECTIVE)).then(pl.lit("communication"))
        .when(pl.col(schema.EVENT_DURATION.name) <= SMALL_NS).then(pl.lit("small_kernel"))
        .when(name.str.contains(_ARITHMETIC)).then(pl.lit("compute"))
        .otherwise(pl.lit("bandwidth"))
    )  # fmt: skip


def causes_on(timeline: Timeline, at: Ints) -> Coded:
    """Account's cause of some device events of a timeline: as `device_causes`, of columns that are known as numbers."""
    key = (column(timeline.events, schema.EVENT_DURATION)[at] <= SMALL_NS).astype(np.int64)
    for said in (timeline.names, timeline.kinds, timeline.causes, coded(timeline.events[schema.EVENT_LIMIT.name])):
        key = key * (len(said.values) + 1) + said.codes[at] + 1
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    told = coded(timeline.events[at[first]].select(device_cause().alias(_TOLD))[_TOLD])
    return Coded(told.codes[which.reshape(-1)], told.values)


def device_causes(events: pl.DataFrame) -> pl.Series:
    """Account's cause of each device event: `device_cause`, with each distinct name looked at once."""
    key = (column(events, schema.EVENT_DURATION) <= SMALL_NS).astype(np.int64)
    for said in (schema.EVENT_NAME, schema.EVENT_KIND, schema.EVENT_LIMIT, schema.EVENT_CAUSE):
        texts = coded(events[said.name])
        key = key * (len(texts.values) + 1) + texts.codes + 1
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    told = events[first].select(device_cause().alias(_TOLD))[_TOLD]
    return told[which.reshape(-1)]
