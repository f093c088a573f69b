"""Recordings of several cells laid side by side: the same operations in the same order, with other sizes.

Whole steps that issue the same operations in every cell are taken where there are any; else what all steps have in common
(`shared_rows.py`), and what only some have (sentences of other lengths unpack in more pieces) is kept apart. Where that is most
of a step (a loop over time steps whose length is the parameter), nothing can be laid side by side.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.calls import operations
from breakeven.costs.works import Operation, Work, works
from breakeven.sweep.launches import Varied, varied
from breakeven.sweep.shared_rows import Step, common, where
from breakeven.timeline import OpStream, edit, schema

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_Call = tuple[Operation, tuple[Work, ...]]

_NO_ROWS: Final = np.zeros(0, dtype=np.int64)


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
        step: the shared rows of one recorded step of the first cell, as a stream of its own.
        cells: each cell's recording.
        kernels: the distinct kernels.
        row: row of the step that each entry belongs to, shape (e,).
        kernel: which kernel the entry is, shape (e,).
        odd: rows whose kernels differ in kind between cells.
        varied: rows whose kernels differ in how many launches they take.
    """

    step: OpStream
    cells: tuple[Recording, ...]
    kernels: tuple[Kernel, ...]
    row: Ints
    kernel: Ints
    odd: tuple[int, ...]
    varied: tuple[Varied, ...] = ()

    @property
    def partly(self) -> bool:
        """Whether some steps hold more than what all share."""
        return any(len(rows) for cell in self.cells for rows in cell.apart)


@dataclass(frozen=True)
class Recording:
    """One cell's recording, and where the shared rows are in it.

    Attributes:
        stream: all that was recorded.
        shared: of each step that is taken, the rows of the stream that are the shared ones, in their order.
        apart: of each such step, the other rows.
    """

    stream: OpStream
    shared: tuple[Ints, ...]
    apart: tuple[Ints, ...]


def aligned(streams: Sequence[OpStream]) -> Aligned | None:
    """Lay recordings side by side; None: their steps have too little in common."""
    names: dict[tuple[str, ...], int] = {}
    parts = [_steps(stream, names) for stream in streams]
    same = set.intersection(*(set(signatures) for signatures in parts)) if parts else set()
    if same:
        counted = Counter({s: min(len(signatures[s]) for signatures in parts) for s in same})
        shared = max(same, key=lambda s: (counted[s], len(s), s))
        cells = tuple(
            Recording(stream, tuple(part[shared]), tuple(_NO_ROWS for _ in part[shared]))
            for stream, part in zip(streams, parts, strict=True)
        )
    else:
        cells = _in_common(streams, parts)
    if not cells:
        return None
    per_cell = [_calls(cell.stream, cell.shared) for cell in cells]
    return _side_by_side(_alone(cells[0].stream, cells[0].shared[0]), cells, per_cell)


def _in_common(streams: Sequence[OpStream], parts: Sequence[dict[Step, list[Ints]]]) -> tuple[Recording, ...]:
    """Recordings with what all their steps have in common; empty: too little."""
    every = [[(signature, rows) for signature, found in part.items() for rows in found] for part in parts]
    shared = common([signature for steps in every for signature, _ in steps])
    if shared is None:
        return ()
    out = []
    for stream, steps in zip(streams, every, strict=True):
        places = [np.array(where(shared, signature), dtype=np.int64) for signature, _ in steps]
        rows = [rows for _, rows in steps]
        out.append(Recording(
            stream, tuple(r[p] for r, p in zip(rows, places, strict=True)),
            tuple(np.delete(r, p) for r, p in zip(rows, places, strict=True)),
        ))  # fmt: skip
    return tuple(out)


def _steps(stream: OpStream, names: dict[tuple[str, ...], int]) -> dict[Step, list[Ints]]:
    """Rows of each step, by what it issues: numbers that `names` gives, in the order in which they come."""
    calls = [(c.op, c.kind, c.device.partition(":")[0]) for c in edit.calls_of(stream)]
    call, step, phase = edit.column(stream, schema.ROW_CALL), edit.column(stream, schema.ROW_STEP), edit.phases(stream)
    issued = np.array(
        [names.setdefault((*calls[c], str(p)), len(names)) for c, p in zip(call, phase, strict=True)], dtype=np.int64
    )  # fmt: skip
    out: dict[Step, list[Ints]] = {}
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


def _calls(stream: OpStream, steps: Sequence[Ints]) -> list[list[_Call]]:
    """Each row of each step: its call, and its kernels."""
    ops, devices = operations(stream.calls), stream.calls[schema.CALL_DEVICE.name].to_list()
    call = edit.column(stream, schema.ROW_CALL)
    found = [works(op)[0] if d != "cpu" or op.name.startswith("copy::") else () for op, d in zip(ops, devices, strict=True)]
    return [[(ops[c], found[c]) for c in call[rows]] for rows in steps]


def _side_by_side(step: OpStream, recordings: tuple[Recording, ...], cells: list[list[list[_Call]]]) -> Aligned:
    known: dict[tuple[object, ...], int] = {}
    kernels: list[Kernel] = []
    rows, which, odd, more = [], [], [], []
    backward = edit.phases(step) == schema.Phase.BACKWARD
    for row in range(len(step)):
        each = [[one[row][1] for one in cell] for cell in cells]
        kinds = {tuple(_kind(w) for w in one) for cell in each for one in cell}
        if len(kinds) > 1:
            odd.append(row)
            continue
        if len({tuple(w.kernels for w in one) for cell in each for one in cell}) > 1:
            more.append(varied(row, bool(backward[row]), [[one[row][0] for one in cell] for cell in cells]))
        for at, like in enumerate(each[0][0]):
            sizes = np.array([np.mean([_sizes(one[at]) for one in cell], axis=0) for cell in each])
            name = (_kind(like), sizes.tobytes())
            if name not in known:
                known[name] = len(kernels)
                kernels.append(Kernel(like, (*(c for c, _ in like.sizes), "count"), sizes))
            rows.append(row)
            which.append(known[name])
    return Aligned(
        step, recordings, tuple(kernels), np.array(rows, dtype=np.int64), np.array(which, dtype=np.int64), tuple(odd), tuple(more)
    )  # fmt: skip


def _kind(work: Work) -> tuple[object, ...]:
    return work.op, tuple(c for c, _ in work.sizes), work.dtype, work.direction, work.spread


def _sizes(work: Work) -> list[int]:
    return [*(size for _, size in work.sizes), work.count]
