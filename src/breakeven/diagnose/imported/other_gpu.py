"""How much longer each event of a device would take on another one: by its operation's price on both, else by its kind.

A kernel whose operation is not known is taken for a plain one of its kind (a product, a pass over memory, a copy) that takes as
long on the recorded device: what the model of costs says of that one on the other device is its time there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.price import HIGH, LOW, MID, price
from breakeven.diagnose.imported.copies import FROM_DEVICE
from breakeven.diagnose.imported.evidence import TraceEvidence
from breakeven.diagnose.imported.seen import Seen
from breakeven.machine.records import Gpu
from breakeven.timeline.intervals import Ints
from breakeven.units import NS_PER_US

Floats = NDArray[np.float64]

#: Sizes of the plain operations: from a kernel of one block to one of seconds.
_SIDES: Final = np.unique(np.rint(np.geomspace(16, 65_536, 72)).astype(np.int64))
_BYTES: Final = np.unique(np.rint(np.geomspace(256, 64e9, 72)).astype(np.int64))
_HALF: Final = re.compile(r"(?i)16816|h16|f16|bf16|half|hmma|hgemm|tensorop_h|_h884|fp16|bfloat")
_TF32: Final = re.compile(r"(?i)tf32|1688")


@dataclass(frozen=True)
class Known:
    """Operations whose price on both devices is known, in order of time. Shape (n,) and (3, n).

    Attributes:
        start: ns, in the timeline's time.
        end: ns.
        ratio: time on the other device over time on this one: low, mid, high; NaN: not known.
    """

    start: Ints
    end: Ints
    ratio: Floats


def ratios(evidence: TraceEvidence, this: Gpu, other: Gpu, known: Known | None = None) -> Floats:
    """Time on the other device over the recorded one, for each event of the timeline: low, mid, high. Shape (3, events).

    Args:
        evidence: of the trace.
        this: the device that was recorded.
        other: the one that is asked for.
        known: operations of the trace with their prices.
    """
    found = np.ones((3, len(evidence.timeline)))
    on_device = evidence.on_device
    for cause in evidence.device_causes.values:
        mine = on_device.where(evidence.device_causes.among(cause))
        for op, dtype, part in _plain(mine, cause):
            found[:, part.at] = _as_long(op, dtype, this, other, part.duration / NS_PER_US)
    if known is not None and len(known.start):
        found = _by_operation(evidence, known, found)
    return found


def _plain(events: Seen, cause: str) -> list[tuple[str, str, Seen]]:
    """The plain operation that stands for each of these events; exchange with other devices keeps its time."""
    if cause == "compute":
        names = events.timeline.names
        half, tf32 = (names.matching(pattern)[events.at] for pattern in (_HALF, _TF32))
        return [
            ("gemm", "float16", events.where(half)), ("gemm", "tf32", events.where(tf32 & ~half)),
            ("gemm", "float32", events.where(~half & ~tf32)),
        ]  # fmt: skip
    if cause == "copy":
        back = events.timeline.names.matching(FROM_DEVICE)[events.at]
        return [("copy_d2h", "float32", events.where(back)), ("copy_h2d", "float32", events.where(~back))]
    return [] if cause == "communication" else [("copy_d2d", "float32", events)]


def _as_long(op: str, dtype: str, this: Gpu, other: Gpu, took_us: Floats) -> Floats:
    """For plain operations that take so long here, their time there over it: low, mid, high."""
    if not len(took_us):
        return np.ones((3, 0))
    sides, bytes_ = (_SIDES, None) if op == "gemm" else (None, _BYTES)
    count = len(_SIDES if sides is not None else _BYTES)
    columns = {"op": [op] * count, "dtype": [dtype] * count}
    sizes = (
        {"m": sides, "n": sides, "k": sides} if sides is not None else {"bytes": bytes_, "pinned": np.ones(count, dtype=np.int64)}
    )
    table = pl.DataFrame({**columns, **sizes})
    here, there = price(table, this), price(table, other)
    if here[MID].null_count() or there[MID].null_count():
        return np.ones((3, len(took_us)))
    mid = np.maximum.accumulate(here[MID].to_numpy())
    log = np.log(np.clip(took_us, mid[0], mid[-1]))
    return np.stack([np.exp(np.interp(log, np.log(mid), np.log(there[c].to_numpy() / mid))) for c in (LOW, MID, HIGH)])


def _by_operation(evidence: TraceEvidence, known: Known, found: Floats) -> Floats:
    """Ratios of the events whose launch lies in an operation that has a price."""
    linked = evidence.on_device
    call = linked.link
    linked, call = linked.where(call >= 0), call[call >= 0]
    begin = Seen(evidence.timeline, call).start
    at = np.searchsorted(known.start, begin, side="right") - 1
    inside = (at >= 0) & (known.end[np.maximum(at, 0)] >= begin)
    ratio = known.ratio[:, np.maximum(at, 0)]
    use = inside & np.isfinite(ratio).all(axis=0)
    found[:, linked.at[use]] = ratio[:, use]
    return found
