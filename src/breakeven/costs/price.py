"""Prices of operations, by the table or one by one: low, mid and high time on the device, and what limits them. No host time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.arithmetic import SCALAR, TABLE, Arithmetic, Values
from breakeven.costs.models import model
from breakeven.costs.operations import DTYPES, OPERATIONS, Operation
from breakeven.costs.rates import NotPriced, Rates, rates
from breakeven.errors import InputError, UnknownDevice
from breakeven.machine.gpus import find_gpu
from breakeven.machine.records import Gpu

#: Columns that a price adds to its row.
LOW, MID, HIGH, LIMIT, NOTE = "low_us", "mid_us", "high_us", "limited_by", "note"
ADDED = (LOW, MID, HIGH, LIMIT, NOTE)
LIMITS = ("compute", "bandwidth", "small_kernel")
_KEYS = ("op", "dtype", "direction", "graph", "gpu")
#: Below this many rows of one kind, one by one is quicker than NumPy.
_FEW = 12


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
    count = table.height
    prices = np.full((3, count), np.nan)
    limits = np.full(count, -1, dtype=np.int64)
    notes = np.full(count, None, dtype=object)
    keys = _keys(table, gpu)
    for (op, dtype, direction, graph, device), group in keys.group_by(_KEYS, maintain_order=True):
        rows = group["row"].to_numpy()
        try:
            job = _job(str(op), str(dtype), str(direction), bool(graph), _device(device, gpu))
            sizes, wrong = _sizes(table, job.operation, rows)
        except (NotPriced, UnknownDevice) as error:
            notes[rows] = str(error)
            continue
        _price_group(job, rows, sizes, wrong, prices, limits, notes)
    priced = limits >= 0
    return table.drop(c for c in ADDED if c in table.columns).with_columns(
        *(pl.Series(name, np.where(priced, prices[i], np.nan)).fill_nan(None) for i, name in enumerate((LOW, MID, HIGH))),
        pl.Series(LIMIT, limits).replace_strict(dict(enumerate(LIMITS)), default=None, return_dtype=pl.String()),
        pl.Series(NOTE, notes.tolist(), dtype=pl.String()),
    )


def price_one(
    op: str, gpu: Gpu, *, dtype: str = "float32", direction: str = "forward", graph: bool = False, **sizes: float
) -> Price:
    """The price of one operation, as `price` gives it for a row.

    Raises:
        InputError: the operation, a column or a dtype is not of the vocabulary, or a size is missing or below 1.

    >>> from breakeven.machine.gpus import find_gpu
    >>> price_one("gemm", find_gpu("t4"), m=1024, n=1024, k=1024).limited_by
    'compute'
    """
    try:
        job = _job(op, dtype, direction, graph, gpu)
        checked, wrong = _check(SCALAR, job.operation, sizes)
        if wrong:
            raise NotPriced(wrong)
        low, mid, high, limit = _estimate(SCALAR, job, checked)
    except NotPriced as error:
        raise InputError(str(error)) from error
    return Price(low, mid, high, LIMITS[int(limit)])


@dataclass(frozen=True)
class _Job:
    """What all rows of a group share."""

    operation: Operation
    dtype: str
    direction: str
    graph: bool
    rates: Rates


@lru_cache(maxsize=8192)
def _job(op: str, dtype: str, direction: str, graph: bool, gpu: Gpu) -> _Job:
    operation = OPERATIONS.get(op)
    if operation is None:
        raise NotPriced(f"unknown operation {op!r}")
    if dtype not in DTYPES:
        raise NotPriced(f"unknown dtype {dtype!r}: one of {', '.join(DTYPES)}")
    if direction not in operation.directions:
        raise NotPriced(f"{op} has no direction {direction!r}: one of {', '.join(operation.directions)}")
    device = rates(gpu)
    if dtype not in device.vector:
        raise NotPriced(f"no {dtype} rate is known for {gpu.name}")
    return _Job(operation, dtype, direction, graph, device)


def _estimate(x: Arithmetic, job: _Job, sizes: Mapping[str, Values]) -> tuple[Values, Values, Values, Values]:
    """Low, mid, high and the index of what limits, of one call or of a table of them."""
    low: Values = 0.0
    mid: Values = 0.0
    high: Values = 0.0
    shares: list[Values] = [0.0, 0.0, 0.0]
    for part in job.operation.parts(x, job.operation.name, job.direction, job.dtype, sizes, job.rates):
        fitted = model(part.variant, job.rates, job.dtype, job.graph)
        terms = fitted.terms(part)
        factor = fitted.correction(x, part)
        time = x.maximum((terms[0] + terms[1] + terms[2]) * factor, part.least)
        limit = _limit(x, terms)
        down, up = _pick(x, limit, fitted.low), _pick(x, limit, fitted.high)
        low, mid, high = low + part.times * x.maximum(down * time, part.least), mid + part.times * time, high + part.times * up * time
        shares = [share + part.times * factor * term for share, term in zip(shares, terms, strict=True)]
    return low, mid, high, _limit(x, shares)


def _limit(x: Arithmetic, terms: Sequence[Values]) -> Values:
    """Index into `LIMITS` of the largest of compute, traffic and fixed time."""
    compute, traffic, fixed = terms
    return x.where(fixed >= x.maximum(compute, traffic), 2, x.where(compute >= traffic, 0, 1))


def _pick(x: Arithmetic, limit: Values, of: tuple[float, float, float]) -> Values:
    return x.where(limit == 2, of[2], x.where(limit == 0, of[0], of[1]))


def _price_group(
    job: _Job, rows: NDArray[np.int64], sizes: dict[str, NDArray[np.float64]], wrong: NDArray[np.object_],
    prices: NDArray[np.float64], limits: NDArray[np.int64], notes: NDArray[np.object_],
) -> None:  # fmt: skip
    bad = wrong.astype(bool)
    notes[rows[bad]] = wrong[bad]
    good = ~bad
    chosen = rows[good]
    if len(chosen) == 0:
        return
    if len(chosen) <= _FEW:
        for at, i in zip(chosen, np.flatnonzero(good), strict=True):
            low, mid, high, limit = _estimate(SCALAR, job, {c: float(v[i]) for c, v in sizes.items()})
            prices[:, at] = low, mid, high
            limits[at] = limit
        return
    low, mid, high, limit = _estimate(TABLE, job, {c: v[good] for c, v in sizes.items()})
    prices[0, chosen], prices[1, chosen], prices[2, chosen] = low, mid, high
    limits[chosen] = limit


def _keys(table: pl.DataFrame, gpu: Gpu | None) -> pl.DataFrame:
    """What rows are grouped by: their operation, dtype, direction, graph and device, with the vocabulary's defaults."""

    def text(column: str, default: str) -> pl.Expr:
        if column not in table.columns:
            return pl.lit(default).alias(column)
        value = pl.col(column).cast(pl.String(), strict=False).str.strip_chars()
        return pl.when(value.is_null() | (value == "")).then(pl.lit(default)).otherwise(value).alias(column)

    graph = pl.col("graph").cast(pl.Float64(), strict=False).fill_null(0.0) > 0 if "graph" in table.columns else pl.lit(False)
    return table.select(
        text("op", ""), text("dtype", "float32"), text("direction", "forward"), graph.alias("graph"), text("gpu", "")
    ).with_row_index("row")


def _device(name: object, gpu: Gpu | None) -> Gpu:
    if name:
        return find_gpu(str(name))
    if gpu is None:
        raise NotPriced("no gpu is given, neither for the row nor for the table")
    return gpu


def _sizes(
    table: pl.DataFrame, operation: Operation, rows: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.object_]]:
    """The sizes of a group's rows as floats, and per row what is wrong with them (empty: nothing)."""
    given = {}
    for column in operation.columns:
        if column in table.columns:
            values = table[column].cast(pl.Float64(), strict=False).gather(rows)
            given[column] = values.fill_null(math.nan).to_numpy()
        else:
            given[column] = np.full(len(rows), np.nan)
    wrong = np.full(len(rows), "", dtype=object)
    for column, default in operation.columns.items():
        values = given[column]
        empty = np.isnan(values)
        if default is None:
            wrong[empty | ~(values >= 1.0)] = f"{operation.name} needs {column} ≥ 1"
        else:
            given[column] = values = np.where(empty, default, values)
            wrong[values < 0.0] = f"{column} is negative"
        wrong[np.isinf(values)] = f"{column} is not finite"
    return given, wrong


def _check(x: Arithmetic, operation: Operation, given: Mapping[str, float]) -> tuple[dict[str, float], str]:
    """The sizes of one call with defaults filled in, and what is wrong with them."""
    unknown = set(given) - set(operation.columns)
    if unknown:
        return {}, f"{operation.name} has no column {', '.join(sorted(unknown))}"
    checked: dict[str, float] = {}
    for column, default in operation.columns.items():
        value = given.get(column)
        if value is None:
            if default is None:
                return {}, f"{operation.name} needs {column} ≥ 1"
            value = default
        elif not math.isfinite(value) or value < (1.0 if default is None else 0.0):
            return {}, f"{operation.name} needs {column} ≥ 1" if default is None else f"{column} is negative or not finite"
        checked[column] = float(value)
    return checked, ""
