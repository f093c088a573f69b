"""Whether two arms computed the same: the numbers that they wrote down, compared step by step. NumPy, no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from breakeven.capture.proof.messages import NUMBERS
from breakeven.results.proof import Difference

Numbers = Mapping[str, NDArray[Any]]  # Any: of several dtypes

KINDS: Final = ("losses", "gradients", "parameters")
#: Steps over which a tolerance is held against. A training amplifies rounding (on `examples/char_rnn.py` 7e-8 in the loss of step
#: 2 became 2e-3 by step 150), so what comes later says more about the training than about the edit.
FIRST_STEPS: Final = 5


def differences(before: Path, after: Path, steps: Sequence[int]) -> tuple[Difference, ...]:
    """How far the numbers of two arms lie apart.

    Args:
        before: folder of one arm.
        after: folder of the other.
        steps: the steps that both wrote down, ascending.
    """
    found: dict[str, list[tuple[int, bool, float | None]]] = {kind: [] for kind in KINDS}
    for step in steps:
        left, right = _read(before, step), _read(after, step)
        for kind in KINDS:
            if any(name.startswith(f"{kind}/") for name in (*left, *right)):
                found[kind].append((step, *_apart(kind, left, right)))
    return tuple(_difference(kind, told) for kind, told in found.items() if told)


def _difference(kind: str, told: Sequence[tuple[int, bool, float | None]]) -> Difference:
    first = next((step for step, same, _ in told if not same), None)
    early = [apart for step, _, apart in told[:FIRST_STEPS]]
    known = [a for a in early if a is not None]
    largest = max(known) if known and len(known) == len(early) else None
    return Difference(kind, first is None, largest, first, told[-1][2])


def _apart(kind: str, left: Numbers, right: Numbers) -> tuple[bool, float | None]:
    """Whether every bit is the same, and the greatest relative difference; None where the two are laid out differently."""
    names = sorted({n for n in (*left, *right) if n.startswith(f"{kind}/")})
    same = all(n in left and n in right and bytes(left[f"digest/{n}"]) == bytes(right[f"digest/{n}"]) for n in names)
    if same:
        return True, 0.0
    noise = _noise([left[n] for n in names if n in left]) if kind == "gradients" else None
    worst = 0.0
    for name in names:
        one, other = left.get(name), right.get(name)
        if one is None or other is None:  # no gradient there is a gradient of zeros
            given = one if one is not None else other
            if kind != "gradients" or given is None or np.any(given):
                return False, None
            continue
        if one.shape != other.shape:
            return False, None
        worst = max(worst, _relative(one, other, noise))
    return False, worst


def _relative(one: NDArray[Any], other: NDArray[Any], noise: tuple[float, float] | None) -> float:  # of any dtype
    """Norm of the difference over the tensor's own norm; what is not finite must be alike.

    A difference that is not larger than the rounding of all gradients together counts as a part of them all: the gradient of a
    bias in front of a normalisation is nothing but rounding, and has no size of its own.

    Not the greatest element: Adam divides a gradient by its own size, so that one of nearly nothing moves its parameter by a
    whole step in a direction that rounding decides.

    Args:
        one: the tensor of one arm.
        other: of the other.
        noise: norm of all tensors together, and the part of it that is rounding; None: the tensor stands for itself.
    """
    if not one.size:
        return 0.0
    a, b = (x.astype(np.complex128 if np.iscomplexobj(x) else np.float64) for x in (one, other))
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    apart, size = float(np.linalg.norm(a[finite] - b[finite])), _size(one)
    if noise is not None and apart <= noise[0] * noise[1]:
        size = noise[0]
    return apart / size if size > 0 else (0.0 if apart == 0 else float("inf"))


def _noise(tensors: Sequence[NDArray[Any]]) -> tuple[float, float]:  # of any dtype
    """Norm of all tensors together, and the relative rounding that their sums may have: the square root of how many terms, times
    the unit roundoff (Higham and Mary, SIAM J. Sci. Comput. 41(5), 2019); for the terms stands how many numbers there are."""
    whole = float(np.hypot.reduce([_size(one) for one in tensors])) if tensors else 0.0
    count = sum(one.size for one in tensors)
    return whole, float(np.sqrt(count)) * max((_roundoff(one) for one in tensors), default=0.0)


def _roundoff(values: NDArray[Any]) -> float:  # of any dtype
    """Unit roundoff of the numbers: of half precision where they were written down in single but have just as many digits.

    What has fewer (zeros, ones, counts) is exact in each precision and says of none that it was used.
    """
    if values.dtype == np.float32:
        used = int(np.bitwise_or.reduce(values[np.isfinite(values)].view(np.uint32)))
        last = used & -used  # the last digit that any of them has
        if last == 1 << 16:
            return 2.0**-8  # bfloat16
        if last == 1 << 13:
            return 2.0**-11  # float16
    return float(np.finfo(values.dtype).eps) / 2 if np.issubdtype(values.dtype, np.inexact) else 0.0


def _size(values: NDArray[Any]) -> float:  # of any dtype
    """The norm of what is finite."""
    return float(np.linalg.norm(values[np.isfinite(values)].ravel().astype(np.complex128)))


def _read(folder: Path, step: int) -> dict[str, NDArray[Any]]:  # of several dtypes
    path = folder / NUMBERS.format(step=step)
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as held:
        return dict(held)
