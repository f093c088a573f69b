"""Arithmetic and shapes of arrays whose elements may not be known: what MATLAB would give, as far as it can be said."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from breakeven.models.matlab.values import (
    KEPT,
    Cell,
    Graph,
    Handle,
    Options,
    Sized,
    Struct,
    Unknown,
    Value,
    plain_shape,
    simple,
    size_of,
)
from breakeven.models.network import Place

Array = NDArray[np.float64]

_ELEMENTWISE: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, ".*": np.multiply, "./": np.divide, ".^": np.power, "*": np.multiply, "/": np.divide,
    "^": np.power, "==": np.equal, "~=": np.not_equal, "!=": np.not_equal, "<": np.less, ">": np.greater, "<=": np.less_equal,
    ">=": np.greater_equal, "&": np.logical_and, "|": np.logical_or, "&&": np.logical_and, "||": np.logical_or,
}  # fmt: skip


def binary(sign: str, left: Value, right: Value, place: Place) -> Value:
    """`left sign right`."""
    for value in (left, right):
        if isinstance(value, Unknown):
            return value
    if isinstance(left, str) or isinstance(right, str):
        return _texts(sign, left, right, place)
    if isinstance(left, Sized) or isinstance(right, Sized):
        return _sized(sign, left, right, place)
    if isinstance(left, float | np.ndarray) and isinstance(right, float | np.ndarray):
        a, b = np.atleast_2d(left), np.atleast_2d(right)
        if sign == "*" and a.size > 1 and b.size > 1:
            return Unknown("a matrix product is not computed", place)
        if sign in _ELEMENTWISE and (sign not in ("/", "^") or b.size == 1):
            try:
                with np.errstate(all="ignore"):
                    return simple(_ELEMENTWISE[sign](a, b).astype(float))
            except ValueError:
                return Unknown(f"sizes {a.shape} and {b.shape} do not go together", place)
    return Unknown(f"{sign!r} is not computed for these", place)


def _texts(sign: str, left: Value, right: Value, place: Place) -> Value:
    if sign == "+" and isinstance(left, str | float) and isinstance(right, str | float):
        return shown(left) + shown(right)
    if sign in ("==", "~=", "!=") and isinstance(left, str) and isinstance(right, str):
        return float((left == right) == (sign == "=="))
    return Unknown(f"{sign!r} is not computed for texts", place)


def _sized(sign: str, left: Value, right: Value, place: Place) -> Value:
    a, b = size_of(left), size_of(right)
    if a is None or b is None or isinstance(left, Cell | Graph | Struct | Handle | Options):
        return Unknown(f"{sign!r} is not computed for these", place)
    if sign == "*" and math.prod(a) > 1 and math.prod(b) > 1:
        return (
            Sized((a[0], b[1])) if len(a) == len(b) == 2 and a[1] == b[0] else Unknown("the sizes of a product do not fit", place)
        )
    wide = max(len(a), len(b))
    pairs = list(zip((*a, *(1,) * (wide - len(a))), (*b, *(1,) * (wide - len(b))), strict=True))
    if any(x != y and 1 not in (x, y) for x, y in pairs):
        return Unknown(f"sizes {a} and {b} do not go together", place)
    return Sized(tuple(max(p) if 0 not in p else 0 for p in pairs))


def shown(value: str | float) -> str:
    """A number as `num2str` shows it, a text as it is."""
    return value if isinstance(value, str) else f"{value:.5g}"


def prefix(sign: str, value: Value, place: Place) -> Value:
    """`-x`, `+x`, `~x`."""
    if isinstance(value, Unknown | Sized):
        return value
    if isinstance(value, float | np.ndarray):
        array = np.atleast_2d(value)
        return simple((-array if sign == "-" else array if sign == "+" else np.logical_not(array)).astype(float))
    return Unknown(f"{sign!r} is not computed for this", place)


def transposed(value: Value, place: Place) -> Value:
    """`x'`."""
    if isinstance(value, np.ndarray):
        return value.T
    if isinstance(value, Sized):
        return (
            Sized((value.shape[1], value.shape[0]), value.classes)
            if len(value.shape) == 2
            else Unknown("only a matrix has a transpose", place)
        )
    if isinstance(value, Cell):
        return Cell(value.items, value.shape[::-1])
    return value


def span(parts: Sequence[Value], place: Place) -> Value:
    """`first:last` and `first:step:last`."""
    for part in parts:
        if isinstance(part, Unknown):
            return part
    if not all(isinstance(part, float) for part in parts):
        return Unknown("the ends of a range are no numbers", place)
    numbers = [float(part) for part in parts if isinstance(part, float)]
    first, last = numbers[0], numbers[-1]
    step = numbers[1] if len(numbers) == 3 else 1.0
    if not all(map(math.isfinite, numbers)) or step == 0:
        return Unknown("the ends of a range are not finite", place)
    count = max(0, math.floor((last - first) / step + 1e-10) + 1) if abs((last - first) / step) < 2**40 else -1
    if count < 0:
        return Unknown("a range is too long", place)
    return np.reshape(first + step * np.arange(count, dtype=float), (1, -1)) if count <= KEPT else Sized((1, count))


def indexed(value: Value, at: Sequence[Value], place: Place) -> Value:
    """`value(at, …)`; an index of None-like `:` is the text ':'."""
    for part in (value, *at):
        if isinstance(part, Unknown):
            return part
    if not at:
        return value
    if isinstance(value, Graph):
        chosen = _positions(at[0], len(value.layers)) if len(at) == 1 else None
        return (
            Unknown("layers are taken by other than their numbers", place)
            if chosen is None
            else Graph(tuple(value.layers[i] for i in chosen))
        )
    if isinstance(value, Cell):
        chosen = _positions(at[0], len(value.items)) if len(at) == 1 else None
        if chosen is None:
            return Unknown("a cell array is indexed by other than whole numbers", place)
        return Cell(tuple(value.items[i] for i in chosen), (len(chosen), 1))
    if isinstance(value, np.ndarray | float):
        return _elements(np.atleast_2d(value), at, place)
    if isinstance(value, Sized):
        return _part(value, at, place)
    return Unknown("this is not indexed", place)


def _positions(at: Value, count: int) -> list[int] | None:
    """Positions from 0 that an index means; None: it is none."""
    if isinstance(at, str) and at == ":":
        return list(range(count))
    numbers = np.atleast_1d(np.asarray(at, dtype=float)).reshape(-1) if isinstance(at, float | np.ndarray) else None
    if numbers is None or (numbers != np.floor(numbers)).any() or (numbers < 1).any() or (numbers > count).any():
        return None
    return [int(n) - 1 for n in numbers]


def _elements(array: Array, at: Sequence[Value], place: Place) -> Value:
    wrong = Unknown("an index is outside of its array, or no whole number", place)
    if len(at) == 1:
        chosen = _positions(at[0], array.size)
        if chosen is None:
            return wrong
        flat = array.reshape(-1, order="F")[chosen]
        return simple(flat.reshape(-1, 1) if isinstance(at[0], str) or array.shape[1] == 1 else flat.reshape(1, -1))
    places = [_positions(part, n) for part, n in zip(at, array.shape, strict=False)]
    if len(at) != array.ndim or any(p is None for p in places):
        return wrong
    return simple(array[np.ix_(*(p for p in places if p is not None))])


def _part(value: Sized, at: Sequence[Value], place: Place) -> Value:
    """The size of a part. Several dimensions may be taken by the last index."""
    shape = value.shape
    folded = (
        (*shape[: len(at) - 1], math.prod(shape[len(at) - 1 :]))
        if len(at) <= len(shape)
        else (*shape, *(1,) * (len(at) - len(shape)))
    )
    counts = []
    for part, size in zip(at, folded, strict=True):
        said = size_of(part)
        if isinstance(part, str) and part == ":":
            counts.append(size)
        elif said is None or isinstance(part, str):
            return Unknown("an index is not known", place)
        else:
            counts.append(math.prod(said))
    if len(at) == 1:
        return Sized((counts[0], 1) if shape[-1] == 1 else (1, counts[0]), value.classes)
    return Sized(plain_shape(tuple(counts)), value.classes)


def joined(rows: Sequence[Sequence[Value]], place: Place) -> Value:
    """`[a b; c d]`."""
    flat = [value for row in rows for value in row]
    for value in flat:
        if isinstance(value, Unknown):
            return value
    kept = [v for v in flat if not (isinstance(v, np.ndarray) and v.size == 0)]
    if any(isinstance(v, Graph) for v in kept):
        if all(isinstance(v, Graph) and v.chain for v in kept):
            return Graph(tuple(layer for v in kept if isinstance(v, Graph) for layer in v.layers))
        return Unknown("layers are put together with what is no layer", place)
    if any(isinstance(v, Cell) for v in kept):
        items = tuple(i for v in kept for i in (v.items if isinstance(v, Cell) else (v,)))
        return Cell(items, (len(items), 1))
    if any(isinstance(v, str) for v in kept):
        texts = [v if isinstance(v, str) else chr(int(v)) if isinstance(v, float) and 0 < v < 0x10000 else "" for v in kept]
        return "".join(texts) if len(rows) <= 1 else Cell(tuple(texts), (len(texts), 1))
    if any(isinstance(v, Sized) for v in kept):
        return _put_together(rows, place)
    try:
        return (
            simple(np.block([[np.atleast_2d(v) for v in row if isinstance(v, float | np.ndarray)] for row in rows if row]))
            if kept
            else np.zeros((0, 0))
        )
    except ValueError:
        return Unknown("the rows of a matrix are of different length", place)


def _put_together(rows: Sequence[Sequence[Value]], place: Place) -> Value:
    sizes = [[size_of(v) for v in row] for row in rows]
    heights, widths = [], set()
    for row in sizes:
        known = [s for s in row if s is not None and len(s) == 2]
        if len(known) != len(row) or len({s[0] for s in known}) > 1:
            return Unknown("the sizes of what is put together do not fit", place)
        heights.append(known[0][0] if known else 0)
        widths.add(sum(s[1] for s in known))
    return (
        Sized((sum(heights), widths.pop()))
        if len(widths) == 1
        else Unknown("the rows of a matrix are of different length", place)
    )


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None: not known."""
    if isinstance(value, float):
        return value != 0
    if isinstance(value, np.ndarray):
        return bool(value.size and (value != 0).all())
    return None
