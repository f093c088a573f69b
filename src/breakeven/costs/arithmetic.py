"""One arithmetic for a number and for an array of them: a formula is written once and serves a single call and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A float, or a float64 array of one value per row. Any: numpy's stubs have no type that stands for both.
Values: TypeAlias = Any


class Arithmetic(Protocol):
    """What the formulas use besides + - * / and **."""

    def maximum(self, a: Values, b: Values) -> Values:
        """The larger of two, element by element."""

    def minimum(self, a: Values, b: Values) -> Values:
        """The smaller of two, element by element."""

    def ceil(self, a: Values) -> Values:
        """The next whole number up."""

    def exp(self, a: Values) -> Values:
        """Exponential."""

    def where(self, condition: Values, yes: Values, no: Values) -> Values:
        """One or the other; both have been worked out."""

    def log2(self, a: Values) -> Values:
        """Logarithm to base 2."""

    def some(self, a: Values) -> bool:
        """Whether any of the values is not zero."""

    def whole(self, a: Values) -> Values:
        """A number that is not negative, rounded down, as an index."""

    def take(self, few: Sequence[float], many: NDArray[np.float64], index: Values) -> Values:
        """Values by index, out of the same values as a list and as an array."""

    def around(self, few: Sequence[float], many: NDArray[np.float64], first: Values, further: Sequence[int]) -> Sequence[Values]:
        """Values at several distances behind an index, out of the same values as a list and as an array."""


class Scalar:
    """Python floats: a few tens of nanoseconds an operation."""

    maximum = staticmethod(max)
    minimum = staticmethod(min)
    ceil = staticmethod(math.ceil)
    log2 = staticmethod(math.log2)
    exp = staticmethod(math.exp)
    whole = staticmethod(int)
    some = staticmethod(bool)

    @staticmethod
    def where(condition: Values, yes: Values, no: Values) -> Values:
        """One or the other."""
        return yes if condition else no

    @staticmethod
    def take(few: Sequence[float], many: NDArray[np.float64], index: Values) -> Values:
        """One value."""
        return few[index]

    @staticmethod
    def around(few: Sequence[float], many: NDArray[np.float64], first: Values, further: Sequence[int]) -> Sequence[Values]:
        """One value a distance."""
        return [few[first + f] for f in further]


class Table:
    """NumPy arrays, one value per row."""

    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    ceil = staticmethod(np.ceil)
    log2 = staticmethod(np.log2)
    exp = staticmethod(np.exp)
    where = staticmethod(np.where)

    @staticmethod
    def some(a: Values) -> bool:
        """Whether any row's is not zero."""
        return bool(np.any(a))

    @staticmethod
    def whole(a: Values) -> Values:
        """Indices."""
        return np.asarray(a).astype(np.int64)

    @staticmethod
    def take(few: Sequence[float], many: NDArray[np.float64], index: Values) -> Values:
        """One value per row."""
        return many[index]

    @staticmethod
    def around(few: Sequence[float], many: NDArray[np.float64], first: Values, further: Sequence[int]) -> Sequence[Values]:
        """One array a distance."""
        return [many[first + f] for f in further]


SCALAR: Arithmetic = Scalar()
TABLE: Arithmetic = Table()
