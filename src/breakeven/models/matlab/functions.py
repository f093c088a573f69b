"""MATLAB's functions that decide a size or an option, computed as far as sizes allow.

What is not here is not known, by its name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from breakeven.models.matlab.arrays import shown
from breakeven.models.matlab.values import KEPT, LARGEST, Cell, Sized, Struct, Unknown, Value, plain_shape, simple, size_of
from breakeven.models.network import Place

Function = Callable[[Sequence[Value], Place], Value]

#: Most items of a cell array that are taken at their word.
_ITEMS = 200_000


def _dimensions(values: Sequence[Value]) -> tuple[int, ...] | None:
    """Sizes as `zeros(…)` takes them: numbers, one vector, with words such as 'single' left out."""
    numbers = [v for v in values if not isinstance(v, str)]
    if len(numbers) == 1 and isinstance(numbers[0], np.ndarray):
        sizes = [float(n) for n in numbers[0].reshape(-1)]
    elif all(isinstance(v, float) for v in numbers):
        sizes = [v for v in numbers if isinstance(v, float)]
        sizes = sizes * 2 if len(sizes) == 1 else sizes or [1.0, 1.0]
    else:
        return None
    if any(not math.isfinite(n) or n != math.floor(n) or n > LARGEST for n in sizes):
        return None
    return plain_shape(tuple(max(0, int(n)) for n in sizes))


def _filled(number: float | None) -> Function:
    def call(values: Sequence[Value], place: Place) -> Value:
        shape = _dimensions(values)
        if shape is None:
            return Unknown("the size of an array is not known", place)
        if number is not None and math.prod(shape) <= KEPT and len(shape) == 2:
            return simple(np.full(shape, number))
        return Sized(shape)

    return call


def _random_whole(values: Sequence[Value], place: Place) -> Value:
    shape = _dimensions(values[1:])
    top = values[0] if values else None
    classes = int(top) if isinstance(top, float) and 0 < top < LARGEST else None
    return Unknown("the size of an array is not known", place) if shape is None else Sized(shape, classes)


def _size(values: Sequence[Value], place: Place) -> Value:
    size = size_of(values[0])
    if size is None:
        return Unknown("a size is not known", place)
    if len(values) == 1:
        return np.array([size], dtype=float)
    if isinstance(values[1], float) and 1 <= values[1] < 100:
        at = int(values[1]) - 1
        return float(size[at]) if at < len(size) else 1.0
    return Unknown("a size is asked for by other than its number", place)


def _of_size(compute: Callable[[tuple[int, ...]], int]) -> Function:
    def call(values: Sequence[Value], place: Place) -> Value:
        size = size_of(values[0])
        return Unknown("a size is not known", place) if size is None else float(compute(size))

    return call


def _same(values: Sequence[Value], place: Place) -> Value:
    return values[0]


def _labels(values: Sequence[Value], place: Place) -> Value:
    """`categories(Y)`, `unique(Y)`, `classes(…)`: as many as there are labels."""
    first = values[0]
    if isinstance(first, Cell):
        texts = list(dict.fromkeys(i for i in first.items if isinstance(i, str)))
        return Cell(tuple(texts), (len(texts), 1)) if texts else Unknown("the labels are not known", place)
    if isinstance(first, np.ndarray | float):
        return simple(np.unique(np.atleast_2d(first)).reshape(-1, 1))
    if isinstance(first, Sized) and first.classes:
        return Sized((first.classes, 1))
    return Unknown("the labels are not known", place)


def _number(compute: Callable[[np.ndarray[tuple[int, ...], np.dtype[np.float64]]], object]) -> Function:
    def call(values: Sequence[Value], place: Place) -> Value:
        first = values[0]
        if isinstance(first, float | np.ndarray):
            with np.errstate(all="ignore"):
                return simple(np.atleast_2d(np.asarray(compute(np.atleast_2d(first)), dtype=float)))
        return first if isinstance(first, Sized) else Unknown("this is no number", place)

    return call


def _even_steps(values: Sequence[Value], place: Place) -> Value:
    count = values[2] if len(values) > 2 else 100.0
    if not isinstance(count, float) or not 1 <= count <= LARGEST:
        return Unknown("the size of an array is not known", place)
    ends = [v for v in values[:2] if isinstance(v, float) and math.isfinite(v)]
    if count > KEPT or len(ends) < 2:
        return Sized((1, int(count)))
    return simple(np.linspace(ends[0], ends[1], int(count)).reshape(1, -1))


def _total(compute: Callable[..., object]) -> Function:
    def call(values: Sequence[Value], place: Place) -> Value:
        first = values[0]
        if isinstance(first, float | np.ndarray) and len(values) == 1 and (np.ndim(first) == 0 or 1 in np.shape(first)):
            with np.errstate(all="ignore"):
                return float(np.asarray(compute(first), dtype=float))
        return Unknown("a sum or product of what is not known", place)

    return call


def _extreme(compute: Callable[..., object]) -> Function:
    def call(values: Sequence[Value], place: Place) -> Value:
        numbers = [v for v in values if isinstance(v, float | np.ndarray) and np.size(v)]
        if not numbers or len(numbers) != len([v for v in values if not isinstance(v, str)]):
            return Unknown("the largest or smallest of what is not known", place)
        return float(np.asarray(compute([compute(n) for n in numbers]), dtype=float))

    return call


def _remainder(values: Sequence[Value], place: Place) -> Value:
    a, b = values[0], values[1] if len(values) > 1 else None
    if isinstance(a, float) and isinstance(b, float) and math.isfinite(a) and math.isfinite(b):
        return a if b == 0 else a - b * math.floor(a / b)
    return Unknown("a remainder of what is not known", place)


def _text(values: Sequence[Value], place: Place) -> Value:
    first = values[0]
    return shown(first) if isinstance(first, float | str) else Unknown("this is no text", place)


def _formatted(values: Sequence[Value], place: Place) -> Value:
    form, rest = values[0], tuple(values[1:])
    if not isinstance(form, str) or len(form) > 200 or any(not isinstance(v, str | float) for v in rest):
        return Unknown("a text is put together from what is not known", place)
    whole = tuple(int(v) if isinstance(v, float) and v == math.floor(v) and abs(v) < 1e15 else v for v in rest)
    if any(c.isdigit() for c in form.replace("%%", "").partition("%")[2][:3]):
        return Unknown("a text is put together with widths", place)
    try:
        return form % whole
    except (TypeError, ValueError, OverflowError):
        return Unknown("a text is put together in a way that is not understood", place)


def _cell(values: Sequence[Value], place: Place) -> Value:
    shape = _dimensions(values)
    if shape is None or math.prod(shape) > _ITEMS:
        return Unknown("the size of a cell array is not known", place)
    empty: Value = np.zeros((0, 0))
    return Cell((empty,) * math.prod(shape), shape)


def _reshaped(values: Sequence[Value], place: Place) -> Value:
    size, rest = size_of(values[0]), list(values[1:])
    if size is None:
        return Unknown("a size is not known", place)
    total = math.prod(size)
    if len(rest) == 1 and isinstance(rest[0], np.ndarray):
        rest = [float(n) for n in rest[0].reshape(-1)]
    open_at = [i for i, v in enumerate(rest) if isinstance(v, np.ndarray) and v.size == 0]
    if len(open_at) == 1:
        known = [v for v in rest if isinstance(v, float) and v >= 1]
        left = math.prod(known)
        rest[open_at[0]] = float(total // left) if len(known) == len(rest) - 1 and math.isfinite(left) and left else float("nan")
    shape = _dimensions(rest)
    if shape is None or math.prod(shape) != total:
        return Unknown("an array is reshaped in a way that does not fit", place)
    first = values[0]
    if isinstance(first, np.ndarray) and len(shape) == 2:
        return first.reshape(shape, order="F")
    return Sized(shape, first.classes if isinstance(first, Sized) else None)


def _permuted(values: Sequence[Value], place: Place) -> Value:
    size, order = size_of(values[0]), values[1] if len(values) > 1 else None
    if size is None or not isinstance(order, np.ndarray):
        return Unknown("an array is permuted in a way that is not known", place)
    wanted = [int(n) - 1 for n in order.reshape(-1)] if np.isfinite(order).all() else []
    if sorted(wanted) != list(range(len(wanted))) or len(wanted) < len(size):
        return Unknown("an array is permuted in a way that is not known", place)
    full = (*size, *(1,) * (len(wanted) - len(size)))
    return Sized(plain_shape(tuple(full[n] for n in wanted)))


def _squeezed(values: Sequence[Value], place: Place) -> Value:
    size = size_of(values[0])
    if size is None:
        return Unknown("a size is not known", place)
    return Sized(plain_shape(tuple(n for n in size if n != 1) if len(size) > 2 else size))


def _structure(values: Sequence[Value], place: Place) -> Value:
    pairs = zip(values[::2], values[1::2], strict=False)
    return Struct({str(name): value for name, value in pairs if isinstance(name, str)})


def _constant(number: float) -> Function:
    return lambda values, place: number if not values else _filled(number)(values, place)


def _is(kind: type | tuple[type, ...]) -> Function:
    return lambda values, place: float(isinstance(values[0], kind))


def _empty(values: Sequence[Value], place: Place) -> Value:
    size = size_of(values[0])
    return Unknown("a size is not known", place) if size is None else float(math.prod(size) == 0)


#: Data sets that come with the toolbox, as its pages describe them: 5000 images of 28 x 28 of 10 digits.
_DIGITS: tuple[Value, ...] = (Sized((28, 28, 1, 5000)), Sized((5000, 1), 10), Sized((5000, 1)))

#: Functions that give several values.
SEVERAL: dict[str, tuple[Value, ...]] = {"digitTrain4DArrayData": _DIGITS, "digitTest4DArrayData": _DIGITS}

#: Function → (fewest arguments, what it gives).
FUNCTIONS: dict[str, tuple[int, Function]] = {
    **dict.fromkeys(("rand", "randn"), (0, _filled(None))),
    "zeros": (0, _filled(0.0)),
    "ones": (0, _filled(1.0)),
    "randi": (1, _random_whole),
    "cell": (0, _cell),
    "size": (1, _size),
    "numel": (1, _of_size(math.prod)),
    "length": (1, _of_size(lambda size: max(size) if math.prod(size) else 0)),
    "height": (1, _of_size(lambda size: size[0])),
    "width": (1, _of_size(lambda size: size[1])),
    "ndims": (1, _of_size(len)),
    **dict.fromkeys(
        (
            "single",
            "double",
            "categorical",
            "gpuArray",
            "gather",
            "dlarray",
            "int32",
            "uint8",
            "int64",
            "uint32",
            "int16",
            "logical",
            "normalize",
            "rescale",
            "sort",
            "full",
            "onehotdecode",
            "string",
            "char",
            "fliplr",
            "flipud",
            "flip",
            "extractdata",
            "initialize",
        ),
        (1, _same),
    ),
    **dict.fromkeys(("categories", "unique"), (1, _labels)),
    "floor": (1, _number(np.floor)),
    "ceil": (1, _number(np.ceil)),
    "round": (1, _number(np.round)),
    "fix": (1, _number(np.trunc)),
    "sqrt": (1, _number(np.sqrt)),
    "abs": (1, _number(np.abs)),
    "exp": (1, _number(np.exp)),
    "log": (1, _number(np.log)),
    "log2": (1, _number(np.log2)),
    "log10": (1, _number(np.log10)),
    "sin": (1, _number(np.sin)),
    "cos": (1, _number(np.cos)),
    "sum": (1, _total(np.sum)),
    "prod": (1, _total(np.prod)),
    "max": (1, _extreme(np.max)),
    "min": (1, _extreme(np.min)),
    "mod": (2, _remainder),
    "rem": (2, _remainder),
    **dict.fromkeys(("num2str", "int2str"), (1, _text)),
    "sprintf": (1, _formatted),
    "reshape": (2, _reshaped),
    "permute": (2, _permuted),
    "squeeze": (1, _squeezed),
    "linspace": (2, _even_steps),
    "struct": (0, _structure),
    "inf": (0, _constant(math.inf)),
    "Inf": (0, _constant(math.inf)),
    "nan": (0, _constant(math.nan)),
    "NaN": (0, _constant(math.nan)),
    "pi": (0, _constant(math.pi)),
    "eps": (0, _constant(2.0**-52)),
    "true": (0, _constant(1.0)),
    "false": (0, _constant(0.0)),
    "isempty": (1, _empty),
    **dict.fromkeys(("ischar", "isstring"), (1, _is(str))),
    "iscell": (1, _is(Cell)),
    "isstruct": (1, _is(Struct)),
    "isnumeric": (1, _is((float, np.ndarray, Sized))),
}

#: Functions that only show something or set the surroundings: nothing follows from them.
SILENT = frozenset(
    [
        "disp",
        "fprintf",
        "figure",
        "plot",
        "title",
        "xlabel",
        "ylabel",
        "legend",
        "hold",
        "grid",
        "subplot",
        "analyzeNetwork",
        "tic",
        "toc",
        "rng",
        "close",
        "clc",
        "clear",
        "warning",
        "drawnow",
        "summary",
        "confusionchart",
        "deepNetworkDesigner",
        "save",
        "addpath",
        "axis",
        "xlim",
        "ylim",
        "colorbar",
        "imshow",
        "montage",
        "pause",
        "datestr",
        "beep",
        "format",
        "confusionmat",
        "print",
        "saveas",
        "exportgraphics",
        "yline",
        "xline",
        "cd",
        "mkdir",
        "more",
        "reset",
        "gpuDevice",
        "parpool",
        "delete",
        "bar",
        "histogram",
    ]
)
