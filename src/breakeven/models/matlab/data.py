"""Sizes of a script's data: said on the command line (`X=1440x28x256`), or read from a `.mat` file. Values are never needed.

`.mat` of versions 5 to 7 is read by SciPy, 7.3 (HDF5) by h5py; both are told to give sizes, and neither runs code from a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from breakeven.errors import InputError, MissingExtra
from breakeven.models.matlab.values import LARGEST, Cell, Sized, Value, plain_shape

_PAIR = re.compile(r"\s*([A-Za-z]\w*)\s*=\s*(.+?)\s*")
_HDF5 = b"\x89HDF\r\n\x1a\n"
#: Elements of a cell array whose sizes are read.
_ITEMS = 20_000


def given(said: Iterable[str]) -> dict[str, Value]:
    """Variables from what follows `--data`: `NAME=SIZExSIZE…`, `NAME=NUMBER`, or the path of a `.mat` file.

    A last size that is a letter (`1440x28xN`) is not known: it is the number of observations, on which no step depends.

    Raises:
        InputError: it is neither.
    """
    values: dict[str, Value] = {}
    for text in said:
        if text.lower().endswith(".mat"):
            values.update(_file(Path(text)))
            continue
        pair = _PAIR.fullmatch(text)
        if pair is None:
            raise InputError(f"--data {text}: give NAME=SIZExSIZE (such as XTrain=1440x28xN), or a .mat file")
        values[pair[1]] = _sizes(text, pair[2])
    return values


def _sizes(said: str, text: str) -> Value:
    parts = re.split(r"\s*[x×*]\s*", text)
    sizes: list[int] = []
    for at, part in enumerate(parts):
        if part.isdecimal() and 1 <= int(part[:12]) <= LARGEST:
            sizes.append(int(part))
        elif re.fullmatch(r"[A-Za-z]", part) and at == len(parts) - 1 and at > 0:
            sizes.append(0)  # as many as there are
        else:
            raise InputError(f"--data {said}: {part!r} is no size: give whole numbers, such as 1440x28x256; the last may be N")
    return float(sizes[0]) if len(sizes) == 1 else Sized(tuple(sizes))


def _file(path: Path) -> dict[str, Value]:
    try:
        with path.open("rb") as file:
            start = file.read(520)
    except OSError as error:
        raise InputError(f"--data {path}: {error.strerror or 'cannot be read'}") from None
    try:
        return _version_73(path) if _HDF5 in (start[:8], start[512:520]) else _version_5(path)
    except ImportError as error:
        raise MissingExtra(f"--data {path}: {error.name} is needed for it: pip install 'breakeven[matlab]'") from None
    except InputError:
        raise
    except (ValueError, TypeError, KeyError, OSError, IndexError, EOFError, NotImplementedError, OverflowError, MemoryError,
            AttributeError, RuntimeError, ArithmeticError) as error:  # fmt: skip
        raise InputError(
            f"--data {path}: it cannot be read as a .mat file ({str(error).splitlines()[0][:80] if str(error) else 'damaged'})"
        ) from None


def _version_5(path: Path) -> dict[str, Value]:
    import zlib

    from scipy.io import loadmat, whosmat  # type: ignore[import-untyped]  # SciPy brings no types
    from scipy.io.matlab import MatReadError  # type: ignore[import-untyped]  # the same

    values: dict[str, Value] = {}
    try:
        listed = whosmat(str(path))
        cells = [name for name, _, kind in listed if kind == "cell"]
        held: dict[str, Any] = loadmat(str(path), variable_names=cells) if cells else {}  # Any: arrays of whatever the file holds
    except (MatReadError, zlib.error) as error:
        raise InputError(f"--data {path}: it cannot be read as a .mat file ({str(error)[:80]})") from None
    for name, shape, kind in listed:
        sizes = tuple(int(n) for n in shape)
        if kind == "cell" and name in held:
            items = np.asarray(held[name], dtype=object).reshape(-1)[:_ITEMS]
            values[name] = Cell(tuple(Sized(plain_shape(np.shape(item))) for item in items), sizes)
        else:
            values[name] = Sized(sizes)
    return values


def _version_73(path: Path) -> dict[str, Value]:
    import h5py  # type: ignore[import-untyped]  # h5py brings no types

    values: dict[str, Value] = {}
    with h5py.File(path, "r") as file:
        for name in file:
            link = file.get(name, getlink=True)
            if name.startswith("#") or not isinstance(link, h5py.HardLink):
                continue  # MATLAB's own store, or a link out of the file, which is not followed
            entry = file[name]
            if not isinstance(entry, h5py.Dataset) or entry.ndim < 2:
                continue
            shape = plain_shape(tuple(int(n) for n in entry.shape[::-1]))  # HDF5 counts the other way round
            if entry.dtype != h5py.ref_dtype:
                values[name] = Sized(shape)
            elif math.prod(shape) <= _ITEMS:
                items = [file[reference] for reference in np.asarray(entry[()]).reshape(-1)]
                values[name] = Cell(
                    tuple(Sized(plain_shape(tuple(map(int, i.shape[::-1])))) for i in items if hasattr(i, "shape")), shape
                )
    return values
