"""One arithmetic for a number and for an array of them, so that a formula is written once and serves a single call and a table."""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import numpy as np

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

    def log(self, a: Values) -> Values:
        """Natural logarithm."""

    def exp(self, a: Values) -> Values:
        """Exponential."""

    def where(self, condition: Values, yes: Values, no: Values) -> Values:
        """One or the other; both have been worked out."""


class Scalar:
    """Python floats: a few tens of nanoseconds an operation."""

    maximum = staticmethod(max)
    minimum = staticmethod(min)
    ceil = staticmethod(math.ceil)
    log = staticmethod(math.log)
    exp = staticmethod(math.exp)

    @staticmethod
    def where(condition: Values, yes: Values, no: Values) -> Values:
        """One or the other."""
        return yes if condition else no


class Table:
    """NumPy arrays, one value per row."""

    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    ceil = staticmethod(np.ceil)
    log = staticmethod(np.log)
    exp = staticmethod(np.exp)
    where = staticmethod(np.where)


SCALAR: Arithmetic = Scalar()
TABLE: Arithmetic = Table()
