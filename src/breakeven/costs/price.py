"""Prices of operations, by the table or one by one: low, mid and high time on the device, and what limits them. No host time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs import columns
from breakeven.costs.arithmetic import SCALAR, TABLE
from breakeven.costs.estimate import LIMITS, Job, estimate, job
from breakeven.costs.operations import KINDS
from breakeven.costs.rates import NotPricedError
from breakeven.costs.single import single
from breakeven.errors import UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Gpu

#: Columns that a price adds to its row.
LOW, MID, HIGH, LIMIT, NOTE = "low_us", "mid_us", "high_us", "limited_by", "note"
ADDED = (LOW, MID, HIGH, LIMIT, NOTE)
#: Up to this many rows of one kind, one by one is quicker than NumPy.
_FEW = 6


@dataclass(frozen=True)
class Price:
    """The price of one operation: µs on the device, 90 % interval, and what limits it."""

    low_us: float
    mid_us: float
    high_us: float
    limited_by: str


def price(table: pl.DataFrame, gpu: Gpu | None = None) -> pl.DataFrame:
    """Price every row of a table of operations.

    Args:
        table: rows of the vocabulary of `predict` (docs/predict.md): `op`, its sizes in elements, and where wanted `dtype`,
            `direction`, `graph`, `gpu`.
        gpu: the device of the rows whose `gpu` is empty or not given.

    Returns:
        The same rows in the same order with `low_us`, `mid_us`, `high_us` (µs on the device; null where there is no price),
        `limited_by` (compute, bandwidth or small_kernel) and `note` (why there is no price).
    """
    answer = _Answer(np.full((3, table.height), np.nan), np.full(table.height, -1, np.int64), np.full(table.height, None, object))
    given = columns.numbers(table)
    for kind, rows in columns.groups(table):
        try:
            task = job(kind.op, kind.dtype, kind.direction, kind.graph, _device(kind.gpu, gpu))
        except (NotPricedError, UnknownDevice) as error:
            answer.notes[rows] = str(error)
            continue
        sizes, wrong = columns.sizes(task.operation, kind, given, rows)
        _price_rows(task, rows, sizes, wrong, answer)
    return table.drop(c for c in ADDED if c in table.columns).with_columns(
        *(pl.Series(name, answer.prices[i]).fill_nan(None) for i, name in enumerate((LOW, MID, HIGH))),
        pl.Series(LIMIT, answer.limits).replace_strict(dict(enumerate(LIMITS)), default=None, return_dtype=pl.String()),
        pl.Series(NOTE, answer.notes.tolist(), dtype=pl.String()),
    )


def price_one(
    op: str, gpu: Gpu, *, dtype: str = "float32", direction: str = "forward", graph: bool = False, **sizes: float
) -> Price:
    """The price of one operation, as `price` gives it for a row.

    Raises:
        InputError: the operation, a column or a dtype is not of the vocabulary, or a size is missing or below 1.

    >>> from breakeven.machine.gpus import find_gpu
    >>> price_one("gemm", find_gpu("t4"), m=4096, n=4096, k=4096).limited_by
    'compute'
    """
    kinds = tuple([sizes.get(k) for k in KINDS])
    low, mid, high, limit = single(op, gpu, dtype, direction, graph, tuple(sizes), kinds).price(sizes)
    return Price(low, mid, high, LIMITS[limit])


@dataclass(frozen=True)
class _Answer:
    """Filled in group by group: prices (3 × rows), what limits (−1: no price), notes."""

    prices: NDArray[np.float64]
    limits: NDArray[np.int64]
    notes: NDArray[np.object_]


def _price_rows(
    task: Job, rows: NDArray[np.int64], sizes: dict[str, columns.Array | float], wrong: NDArray[np.object_], answer: _Answer
) -> None:
    good = wrong == ""
    if not good.all():
        answer.notes[rows[~good]] = wrong[~good]
        rows, sizes = rows[good], {c: v if isinstance(v, float) else v[good] for c, v in sizes.items()}
    if len(rows) <= _FEW:
        for i, at in enumerate(rows):
            low, mid, high, limit = estimate(
                SCALAR, task, {c: v if isinstance(v, float) else float(v[i]) for c, v in sizes.items()}
            )
            answer.prices[:, at] = low, mid, high
            answer.limits[at] = limit
        return
    for i, values in enumerate(found := estimate(TABLE, task, sizes)):
        if i < len(found) - 1:
            answer.prices[i, rows] = values
        else:
            answer.limits[rows] = values


def _device(name: str, gpu: Gpu | None) -> Gpu:
    if name:
        return find_gpu(name)
    if gpu is None:
        raise NotPricedError("no gpu is given, neither for the row nor for the table")
    return gpu
