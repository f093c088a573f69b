"""Which family prices which operation, and what its columns are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families import conv, copies, elementwise, launch, matmul, recurrent, rows
from breakeven.costs.families.part import Part, Wanted
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis

Parts = Callable[[Arithmetic, str, str, str, Mapping[str, Values], Rates, Wanted], list[Part]]


@dataclass(frozen=True)
class Operation:
    """One operation that can be priced.

    Attributes:
        columns: its columns, and what stands in where one is empty (None: it must be given, and be at least 1).
    """

    name: str
    family: str
    columns: Mapping[str, float | None]
    directions: tuple[str, ...]
    parts: Parts


_FAMILIES: Final = (
    ("matmul", matmul.COLUMNS, matmul.DIRECTIONS, matmul.parts),
    ("conv2d", conv.COLUMNS, conv.DIRECTIONS, conv.parts),
    ("recurrent", recurrent.COLUMNS, recurrent.DIRECTIONS, recurrent.parts),
    ("elementwise", elementwise.COLUMNS, elementwise.DIRECTIONS, elementwise.parts),
    ("rows", rows.COLUMNS, rows.DIRECTIONS, rows.parts),
    ("copies", copies.COLUMNS, copies.DIRECTIONS, copies.parts),
    ("launch", launch.COLUMNS, launch.DIRECTIONS, launch.parts),
)

#: Every operation of the vocabulary, by name.
OPERATIONS: Final[Mapping[str, Operation]] = {
    name: Operation(name, family, columns, directions, parts)
    for family, ops, directions, parts in _FAMILIES
    for name, columns in ops.items()
}

#: Axes of the tables of corrections, by variant.
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    variant: axes
    for family in (matmul, conv, recurrent, elementwise, rows, copies, launch)
    for variant, axes in family.AXES.items()
}

#: Variants whose table holds times itself and not factors: what share of the logarithm of the price is the table's.
BLENDS: Final[Mapping[str, float]] = dict.fromkeys(conv.AXES, conv.BLEND)

#: Columns that choose a variant: rows are priced in groups of one value.
KINDS: Final = ("inputs", "pinned")

#: Dtypes that a price may be asked for.
DTYPES: Final = ("float32", "float64", "tf32", "float16", "bfloat16")
