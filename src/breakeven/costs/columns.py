"""The columns of a table of operations, read once: what groups its rows, and its sizes as numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from breakeven.costs.operations import KINDS, OPERATIONS, Operation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """What the rows of a group share: operation, dtype, direction, whether out of a graph, device, and the numbers that choose a variant."""

    op: str
    dtype: str
    direction: str
    graph: bool
    gpu: str
    numbers: tuple[float, ...]


def groups(table: pl.DataFrame) -> Iterator[tuple[Kind, NDArray[np.int64]]]:
    """The rows (positions) of each kind."""
    keys = table.select(
        _text(table, "op", ""), _text(table, "dtype", "float32"), _text(table, "direction", "forward"),
        (_number(table, "graph").fill_null(0.0) > 0).alias("graph"), _text(table, "gpu", ""),
        *(_number(table, name).fill_null(math.nan).alias(name) for name in KINDS),
    )  # fmt: skip
    found = keys.with_row_index("row").group_by(keys.columns, maintain_order=True).agg("row")
    for op, dtype, direction, graph, gpu, *kinds, rows in found.iter_rows():
        yield Kind(op, dtype, direction, graph, gpu, tuple(kinds)), np.asarray(rows, dtype=np.int64)


def numbers(table: pl.DataFrame) -> dict[str, Array]:
    """Every size column of the vocabulary that the table has, as floats; what is empty or no number is NaN."""
    wanted = {c for operation in OPERATIONS.values() for c in operation.columns if c not in KINDS}
    found = table.select(_number(table, c).fill_null(math.nan).alias(c) for c in sorted(wanted) if c in table.columns)
    return {c: found[c].to_numpy() for c in found.columns}


def sizes(
    operation: Operation, kind: Kind, given: Mapping[str, Array], rows: NDArray[np.int64]
) -> tuple[dict[str, Array | float], NDArray[np.object_]]:
    """The sizes of a group's rows, defaults filled in, and per row what is wrong with them (empty: nothing)."""
    found: dict[str, Array | float] = {}
    wrong = np.full(len(rows), "", dtype=object)
    for column, default in operation.columns.items():
        if column in KINDS:
            value = kind.numbers[KINDS.index(column)]
            found[column] = value if math.isfinite(value) else float(default or 0.0)
            continue
        values = given[column][rows] if column in given else np.full(len(rows), math.nan)
        if default is None:
            bad = ~(values >= 1.0) | np.isinf(values)
        else:
            values = np.where(np.isnan(values), default, values)
            bad = (values < 0.0) | np.isinf(values)
        if bad.any():
            wrong[bad] = complaint(operation, column)
        found[column] = values
    return found, wrong


def checked(operation: Operation, given: Mapping[str, float]) -> tuple[dict[str, float], str]:
    """The sizes of one call, defaults filled in, and what is wrong with them (empty: nothing)."""
    found: dict[str, float] = {}
    for column, default in operation.columns.items():
        value = given.get(column, default)
        if value is None or not (1.0 if default is None else 0.0) <= value < math.inf:
            return found, complaint(operation, column)
        found[column] = float(value)
    if len(given) > len(found) or not given.keys() <= found.keys():
        return found, f"{operation.name} has no column {', '.join(sorted(given.keys() - operation.columns.keys()))}"
    return found, ""


def complaint(operation: Operation, column: str) -> str:
    """What to say of a size that cannot be used."""
    return f"{operation.name} needs a finite {column} of at least {1 if operation.columns[column] is None else 0}"


def _text(table: pl.DataFrame, column: str, default: str) -> pl.Expr:
    if column not in table.columns:
        return pl.lit(default).alias(column)
    value = pl.col(column).cast(pl.String(), strict=False).str.strip_chars()
    return pl.when(value.is_null() | (value == "")).then(pl.lit(default)).otherwise(value).alias(column)


def _number(table: pl.DataFrame, column: str) -> pl.Expr:
    if column not in table.columns:
        return pl.lit(None, dtype=pl.Float64()).alias(column)
    return pl.col(column).cast(pl.Float64(), strict=False)
