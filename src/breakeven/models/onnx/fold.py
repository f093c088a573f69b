"""Values of an ONNX graph that are known before it runs: constants, and what is computed of shapes. Small arrays, by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from breakeven.models.onnx.node import Array

#: Most elements of a value that is kept.
MOST = 65_536

Fold = Callable[[list[Any], dict[str, Any]], Any]  # Any: arrays (None: left out), attributes


def folded(op: str, given: list[Array | None], attributes: dict[str, Any]) -> Array | None:  # Any: attributes
    """The value of a node whose inputs are all known; None: it is not computed here."""
    compute = _FOLDS.get(op)
    if compute is None:
        return None
    try:
        with np.errstate(all="ignore"):
            value = compute(list(given), attributes)
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError):
        return None
    return None if value is None or np.asarray(value).size > MOST else np.asarray(value)


def _axes(given: list[Any], attributes: dict[str, Any]) -> tuple[int, ...] | None:  # Any: as above
    value = attributes.get("axes", given[1] if len(given) > 1 else None)
    return None if value is None else tuple(int(v) for v in np.asarray(value).reshape(-1))


def _unsqueeze(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    axes = _axes(given, attributes) or ()
    return np.expand_dims(given[0], axes)


def _slice(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    data, rest = given[0], [*given[1:], None, None, None, None]
    starts, ends, axes = (attributes.get(name, rest[at]) for at, name in enumerate(("starts", "ends", "axes")))
    if starts is None or ends is None:
        return None
    steps = [1] * len(starts) if rest[3] is None else rest[3]
    axes = range(len(starts)) if axes is None else axes
    cut: list[slice] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        last = int(end)
        cut[int(axis)] = slice(int(start), None if step < 0 and last < -data.shape[int(axis)] else last, int(step))
    return data[tuple(cut)]


def _filled(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    shape = tuple(int(n) for n in given[0])
    if math.prod(shape) > MOST:
        return None
    value = attributes.get("value")
    return np.full(shape, 0.0 if value is None else np.asarray(value).reshape(-1)[0], None if value is not None else np.float32)


def _reshape(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    shape = [given[0].shape[i] if n == 0 else int(n) for i, n in enumerate(given[1])]
    return given[0].reshape(shape)


def _divide(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    a, b = given
    return np.trunc(a / b).astype(a.dtype) if np.issubdtype(a.dtype, np.integer) else a / b


def _range(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    first, last, step = (one.reshape(()) for one in given)
    return None if step == 0 or (last - first) / step > MOST else np.arange(first, last, step, dtype=given[0].dtype)


def _expand(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    shape = np.broadcast_shapes(given[0].shape, tuple(int(n) for n in given[1]))
    return None if math.prod(shape) > MOST else np.broadcast_to(given[0], shape)


def _cast(given: list[Any], attributes: dict[str, Any]) -> Any:  # Any: as above
    kinds = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}
    return given[0].astype(kinds[attributes["to"]]) if attributes.get("to") in kinds else None


_FOLDS: dict[str, Fold] = {
    "Identity": lambda given, a: given[0],
    "Gather": lambda given, a: np.take(given[0], given[1].astype(np.int64), axis=a.get("axis", 0)),
    "Concat": lambda given, a: np.concatenate(given, axis=a["axis"]),
    "Unsqueeze": _unsqueeze,
    "Squeeze": lambda given, a: np.squeeze(given[0], _axes(given, a)),
    "Slice": _slice,
    "Cast": _cast,
    "ConstantOfShape": _filled,
    "Reshape": _reshape,
    "Range": _range,
    "Expand": _expand,
    "Add": lambda given, a: given[0] + given[1],
    "Sub": lambda given, a: given[0] - given[1],
    "Mul": lambda given, a: given[0] * given[1],
    "Div": _divide,
    "Mod": lambda given, a: (np.fmod if a.get("fmod") else np.mod)(given[0], given[1]),
    "Neg": lambda given, a: -given[0],
    "Sqrt": lambda given, a: np.sqrt(given[0]),
    "Floor": lambda given, a: np.floor(given[0]),
    "Ceil": lambda given, a: np.ceil(given[0]),
    "Max": lambda given, a: np.maximum.reduce(given),
    "Min": lambda given, a: np.minimum.reduce(given),
    "Equal": lambda given, a: given[0] == given[1],
    "Greater": lambda given, a: given[0] > given[1],
    "Less": lambda given, a: given[0] < given[1],
    "GreaterOrEqual": lambda given, a: given[0] >= given[1],
    "LessOrEqual": lambda given, a: given[0] <= given[1],
    "Not": lambda given, a: ~given[0],
    "And": lambda given, a: given[0] & given[1],
    "Or": lambda given, a: given[0] | given[1],
    "Where": lambda given, a: np.where(given[0], given[1], given[2]),
    "ReduceProd": lambda given, a: np.prod(given[0], keepdims=bool(a.get("keepdims", 1))),
    "Transpose": lambda given, a: np.transpose(given[0], a.get("perm")),
    "Trilu": lambda given, a: (np.triu if a.get("upper", 1) else np.tril)(given[0], int(given[1]) if len(given) > 1 else 0),
}
