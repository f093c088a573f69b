"""Recordings of several cells laid side by side: the same operations in the same order, with other sizes.

Only whole steps that issue the same operations in every cell are taken. What differs in its operations (a loop over time
steps whose length is the parameter) cannot be laid side by side, and says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.calls import operations
from breakeven.costs.works import Work, works
from breakeven.timeline import OpStream, edit, schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Kernel:
    """One kind of kernel of the step, in all cells.

    Attributes:
        like: what it is; its own sizes are those of the first cell.
        columns: names of its sizes; the last is `count`, how many run one after another.
        sizes: shape (cells, columns); means where the recorded steps differ.
    """

    like: Work
    columns: tuple[str, ...]
    sizes: Floats


@dataclass(frozen=True)
class Aligned:
    """The step that all cells share.

    Attributes:
        steps: of each cell, one recorded step as a stream of its own.
        kernels: the distinct kernels.
        row: row of the step that each entry belongs to, shape (e,).
        kernel: which kernel the entry is, shape (e,).
        odd: rows whose kernels differ in kind between cells.
    """

    steps: tuple[OpStream, ...]
    kernels: tuple[Kernel, ...]
    row: Ints
    kernel: Ints
    odd: tuple[int, ...]


def aligned(streams: Sequence[OpStream]) -> Aligned | None:
    """Lay recordings side by side; None: no step issues the same operations in all of them."""
    parts = [_steps(stream) for stream in streams]
    common = set.intersection(*(set(signatures) for signatures in parts)) if parts else set()
    if not common:
        return None
    counted = Counter({s: min(len(signatures[s]) for signatures in parts) for s in common})
    shared = max(common, key=lambda s: (counted[s], len(s), s))
    per_cell = [_works(stream, part[shared]) for stream, part in zip(streams, parts, strict=True)]
    steps = tuple(_alone(stream, part[shared][0]) for stream, part in zip(streams, parts, strict=True))
    return _side_by_side(steps, per_cell)


def _steps(stream: OpStream) -> dict[tuple[int, ...], list[Ints]]:
    """Rows of each step, by what it issues."""
    names = [hash((c.op, c.kind, c.device.partition(":")[0])) for c in edit.calls_of(stream)]
    call, step = edit.column(stream, schema.ROW_CALL), edit.column(stream, schema.ROW_STEP)
    phase = [hash(str(p)) for p in edit.phases(stream)]
    issued = np.array([hash((names[c], p)) for c, p in zip(call, phase, strict=True)], dtype=np.int64)
    out: dict[tuple[int, ...], list[Ints]] = {}
    for at in np.unique(step):
        rows = np.flatnonzero(step == at)
        out.setdefault(tuple(issued[rows].tolist()), []).append(rows)
    return out


def _alone(stream: OpStream, rows: Ints) -> OpStream:
    """One step as a stream of its own."""
    kept = np.zeros(len(stream), dtype=np.bool_)
    kept[rows] = True
    one = edit.keep(stream, kept, carry_host=False)
    numbered = one.rows.with_columns(pl.lit(0, dtype=schema.ROW_STEP.dtype).alias(schema.ROW_STEP.name))
    return replace(one, rows=numbered, steps=1)


def _works(stream: OpStream, steps: Sequence[Ints]) -> list[list[tuple[Work, ...]]]:
    """Kernels of each row of each step."""
    ops, devices = operations(stream.calls), stream.calls[schema.CALL_DEVICE.name].to_list()
    call = edit.column(stream, schema.ROW_CALL)
    found = [works(op)[0] if d != "cpu" or op.name.startswith("copy::") else () for op, d in zip(ops, devices, strict=True)]
    return [[found[c] for c in call[rows]] for rows in steps]


def _side_by_side(steps: tuple[OpStream, ...], cells: list[list[list[tuple[Work, ...]]]]) -> Aligned:
    known: dict[tuple[object, ...], int] = {}
    kernels: list[Kernel] = []
    rows, which, odd = [], [], []
    for row in range(len(steps[0])):
        each = [[step[row] for step in cell] for cell in cells]
        kinds = {tuple(_kind(w) for w in one) for cell in each for one in cell}
        if len(kinds) > 1:
            odd.append(row)
            continue
        for at, like in enumerate(each[0][0]):
            sizes = np.array([np.mean([_sizes(one[at]) for one in cell], axis=0) for cell in each])
            name = (_kind(like), sizes.tobytes())
            if name not in known:
                known[name] = len(kernels)
                kernels.append(Kernel(like, (*(c for c, _ in like.sizes), "count"), sizes))
            rows.append(row)
            which.append(known[name])
    return Aligned(steps, tuple(kernels), np.array(rows, dtype=np.int64), np.array(which, dtype=np.int64), tuple(odd))


def _kind(work: Work) -> tuple[object, ...]:
    return work.op, tuple(c for c, _ in work.sizes), work.dtype, work.direction, work.kernels, work.spread


def _sizes(work: Work) -> list[int]:
    return [*(size for _, size in work.sizes), work.count]
