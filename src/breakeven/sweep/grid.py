"""Grids: `batch=16:4096:x2` and `hidden=64,256` as axes, their cells, and each cell's key."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from breakeven.errors import InputError
from breakeven.sweep.names.found import Value

#: More cells than this are no plan but a slip of the keyboard.
MOST_CELLS: Final = 100_000
_RANGE = re.compile(r"^(?P<low>[-+.\deE]+):(?P<high>[-+.\deE]+)(?::(?P<by>x|\+)?(?P<step>[.\deE]+))?$")


@dataclass(frozen=True)
class Axis:
    """One parameter and its values.

    Attributes:
        name: as it was typed.
        values: in the order of the grid: numbers rise, words stay as given.
    """

    name: str
    values: tuple[Value, ...]

    @property
    def is_number(self) -> bool:
        """Whether there is an order, and something between two values."""
        return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in self.values)


@dataclass(frozen=True)
class Grid:
    """Axes, and the cells that they span (the last axis runs fastest)."""

    axes: tuple[Axis, ...]

    @property
    def cells(self) -> tuple[tuple[Value, ...], ...]:
        """Every choice of values, in the order of the grid."""
        return tuple(itertools.product(*(axis.values for axis in self.axes)))

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(axis.name for axis in self.axes)

    def key(self, cell: Sequence[Value]) -> str:
        """A cell's name, which can be a file's: `batch=64,hidden=256`."""
        said = ",".join(f"{name}={value}" for name, value in zip(self.names, cell, strict=True))
        return re.sub(r"[^\w=,.+-]", "_", said)


def grid(texts: Sequence[str]) -> Grid:
    """The grid that `--vary` options span.

    Raises:
        InputError: a text that is no axis, the same name twice, or too many cells.

    >>> grid(["batch=16:128:x2", "hidden=64,256"]).axes[0].values
    (16, 32, 64, 128)
    """
    if not texts:
        raise InputError("nothing to vary: give --vary NAME=LO:HI[:xK] or --vary NAME=a,b,c")
    return spanned([axis(text) for text in texts])


def spanned(axes: Sequence[Axis]) -> Grid:
    """The grid of some axes.

    Raises:
        InputError: the same name twice, or too many cells.
    """
    names = [a.name for a in axes]
    if len(set(names)) < len(names):
        raise InputError(f"--vary {next(n for n in names if names.count(n) > 1)} is given twice")
    count = 1
    for one in axes:
        count *= len(one.values)
    if count > MOST_CELLS:
        raise InputError(f"the grid has {count:,} cells; {MOST_CELLS:,} is the most")
    return Grid(tuple(axes))


def axis(text: str) -> Axis:
    """One `NAME=…`.

    Raises:
        InputError: it is not one.

    >>> axis("layers=1,2,4").values, axis("lr=0.1:1").values, axis("n=10:40:+10").values
    ((1, 2, 4), (0.1, 0.2, 0.4, 0.8, 1.0), (10, 20, 30, 40))
    """
    name, equals, said = text.partition("=")
    if not equals or not name.strip() or not said.strip():
        raise InputError(f"--vary {text}: give NAME=LO:HI[:xK] or NAME=a,b,c")
    found = _RANGE.match(said.strip())
    values = _ranged(text, found) if found else tuple(_value(part) for part in said.split(","))
    if any(v == "" for v in values):
        raise InputError(f"--vary {text}: a value is empty")
    once = tuple(dict.fromkeys(values))
    numbers = [v for v in once if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return Axis(name.strip(), tuple(sorted(numbers)) if len(numbers) == len(once) else once)


def _ranged(text: str, found: re.Match[str]) -> tuple[Value, ...]:
    low, high = _number(text, found["low"]), _number(text, found["high"])
    step = _number(text, found["step"]) if found["step"] else 2
    adds = found["by"] == "+"
    if high < low:
        raise InputError(f"--vary {text}: {found['high']} is less than {found['low']}")
    if step <= (0 if adds else 1) or (not adds and low <= 0):
        way = "a step above 0" if adds else "a factor above 1, and a range above 0"
        raise InputError(f"--vary {text}: needs {way}")
    whole = isinstance(low, int) and isinstance(high, int)
    values: list[int | float] = []
    at: int | float = low
    while at <= high * (1 + 1e-9) and len(values) <= MOST_CELLS:
        values.append(round(at) if whole else float(f"{at:.12g}"))
        at = at + step if adds else at * step
    if values[-1] != high:
        values.append(high if whole else float(high))
    return tuple(values)


def _number(text: str, said: str) -> int | float:
    value = _value(said)
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise InputError(f"--vary {text}: {said} is no number")
    return value


def _value(said: str) -> Value:
    said = said.strip()
    for kind in (int, float):
        try:
            return kind(said)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(said.lower(), said)
