"""Every column of the tables, declared once: its name, type, unit and meaning. Nothing else spells a column as a string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl


@dataclass(frozen=True)
class Column:
    """One column of one table."""

    name: str
    dtype: pl.DataType
    unit: str
    meaning: str


class Kind:
    """Values of `OpStream.KIND` and `Events.KIND`."""

    COMPUTE: Final = "compute"
    COPY: Final = "copy"
    SYNC: Final = "sync"
    HOST: Final = "host"
    LAUNCH: Final = "launch"
    ALLOC: Final = "alloc"
    COMMUNICATION: Final = "communication"
    STEP: Final = "step"


class Phase:
    """Values of `OpStream.PHASE` and `Events.PHASE`: what part of a training step an operation belongs to."""

    INPUT: Final = "input"
    FORWARD: Final = "forward"
    BACKWARD: Final = "backward"
    OPTIMIZER: Final = "optimizer"
    OTHER: Final = "other"


# --- OpStream: `calls` holds each distinct call once, `rows` says in which order they were issued -----------------------

_SHAPES = pl.List(pl.List(pl.Int64))

#: Calls: one row per distinct (operation, shapes, dtypes, attributes, device). Rows refer to it by position.
CALL_OP = Column("op", pl.String(), "", "operation: `aten::addmm`, `cudnn::lstm`, `copy::h2d`, `sync::item`, `host::python`")
CALL_KIND = Column("kind", pl.String(), "", "compute, copy, sync or host")
CALL_DEVICE = Column("device", pl.String(), "", "logical device that it runs on: `cpu` or `cuda:0`")
CALL_INPUTS = Column("inputs", _SHAPES, "elements", "shapes of its tensor inputs, flattened out of lists, in order")
CALL_INPUT_DTYPES = Column("input_dtypes", pl.List(pl.String()), "", "dtype of each tensor input, without `torch.`")
CALL_PARAMETERS = Column(
    "parameters", pl.List(pl.Boolean()), "", "for each input: it has a parameter's shape (does not grow with the batch)"
)
CALL_OUTPUTS = Column("outputs", _SHAPES, "elements", "shapes of its tensor outputs")
CALL_DTYPE = Column("dtype", pl.String(), "", "dtype that it computes in (logical: under autocast what CUDA would use)")
CALL_ATTRIBUTES = Column(
    "attributes",
    pl.String(),
    "JSON",
    "what shapes do not say: stride, padding, groups, dim, hidden, layers, bytes, pinned, tensors …",
)
CALLS: tuple[Column, ...] = (
    CALL_OP, CALL_KIND, CALL_DEVICE, CALL_INPUTS, CALL_INPUT_DTYPES, CALL_PARAMETERS, CALL_OUTPUTS, CALL_DTYPE, CALL_ATTRIBUTES,
)  # fmt: skip

#: Rows: one per operation, in issue order, over all recorded steps.
ROW_CALL = Column("call", pl.Int32(), "position", "which distinct call this is")
ROW_STEP = Column("step", pl.Int32(), "index", "recorded step that it belongs to, from 0")
ROW_PHASE = Column("phase", pl.String(), "", "input, forward, backward, optimizer or other")
ROW_SITE = Column("site", pl.Int32(), "position", "line of the user's file that it is blamed on; -1: none")
ROW_HOST = Column(
    "host_ns",
    pl.Int64(),
    "ns",
    "host time between the row before and this one, outside any operation; null: not measured",
)
ROW_CPU = Column("cpu_ns", pl.Int64(), "ns", "its own time when run on this machine's CPU; null: not measured")
ROW_WAITS = Column("waits_for", pl.Int32(), "row", "row whose completion the host waits for here; -1: none")
ROWS: tuple[Column, ...] = (ROW_CALL, ROW_STEP, ROW_PHASE, ROW_SITE, ROW_HOST, ROW_CPU, ROW_WAITS)

# --- Timeline: events on lanes -----------------------------------------------------------------------------------------

EVENT_NAME = Column("name", pl.String(), "", "operation, kernel, call or mark, as its source names it")
EVENT_KIND = Column("kind", pl.String(), "", "compute, copy, sync, host, launch, alloc, communication or step")
EVENT_LANE = Column("lane", pl.Int32(), "position", "lane that it lies on (`Timeline.lanes`)")
EVENT_START = Column("start_ns", pl.Int64(), "ns", "start, from the timeline's origin")
EVENT_DURATION = Column("duration_ns", pl.Int64(), "ns", "length; 0 for an instant")
EVENT_LINK = Column(
    "link", pl.Int32(), "event", "event that caused this one: launch → kernel, wait → what it waited for; -1: none"
)
EVENT_STEP = Column("step", pl.Int32(), "index", "step that it belongs to; -1: none")
EVENT_PHASE = Column("phase", pl.String(), "", "input, forward, backward, optimizer or other; null: not known")
EVENT_SITE = Column("site", pl.Int32(), "position", "line of the user's file (`Timeline.sites`); -1: none")
EVENT_LIMIT = Column("limited_by", pl.String(), "", "of a kernel: compute, bandwidth or small_kernel; null: not known")
EVENT_BYTES = Column("bytes", pl.Int64(), "bytes", "bytes of a copy; null: not known or no copy")
EVENT_CAUSE = Column(
    "cause",
    pl.String(),
    "",
    "of a host event: account's cause that waiting on it means (launch, input, memory, warmup); null: by its kind",
)
EVENTS: tuple[Column, ...] = (
    EVENT_NAME, EVENT_KIND, EVENT_LANE, EVENT_START, EVENT_DURATION, EVENT_LINK, EVENT_STEP, EVENT_PHASE, EVENT_SITE, EVENT_LIMIT,
    EVENT_BYTES, EVENT_CAUSE,
)  # fmt: skip


def empty(columns: tuple[Column, ...]) -> pl.DataFrame:
    """A frame of these columns without rows."""
    return pl.DataFrame(schema={c.name: c.dtype for c in columns})
