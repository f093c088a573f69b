"""Laws of sizes: how a whole number in a recording follows from the parameters, found from the cells that were recorded.

A size is a sum of at most three products of the parameters (`4 h² + 32 h`, `b h`, `t - 1`). One that no such sum gives exactly
(sentences of random length) gets the product that comes nearest, and is called approximate.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: A size off by so much relatively, or by half an element, is exact: sums are divided among kernels and rounded.
_EXACT = 1e-6
#: Log error from which on an approximate law is no law.
LOOSE = 0.35


@dataclass(frozen=True)
class Law:
    """A sum of products of the parameters.

    Attributes:
        powers: of each parameter in each product, shape (k, d).
        factors: of each product, shape (k,).
        error: largest log error where it was found; 0: exact.
    """

    powers: NDArray[np.int64]
    factors: Floats
    error: float

    def values(self, parameters: Floats) -> Floats:
        """The size at other parameters, shape (m,): whole, and not negative."""
        total = (np.prod(parameters[:, None, :] ** self.powers[None], axis=2) * self.factors).sum(axis=1)
        whole: Floats = np.maximum(0.0, np.rint(total))
        return whole


def law(sizes: Floats, parameters: Floats) -> Law:
    """The simplest law of a size.

    Args:
        sizes: at each cell, shape (n,).
        parameters: positive, shape (n, d).

    >>> law(np.array([24.0, 40.0, 88.0]), np.array([[1.0], [2.0], [5.0]])).error
    0.0
    """
    if np.all(np.abs(sizes - sizes[0]) <= _EXACT * np.abs(sizes[0])):
        return Law(np.zeros((1, parameters.shape[1]), dtype=np.int64), sizes[:1].copy(), 0.0)
    powers = _powers(parameters.shape[1])
    products = np.prod(parameters[:, None, :] ** powers[None], axis=2)  # (n, k)
    distinct = len(np.unique(parameters, axis=0))
    for count in range(1, min(3, distinct - 1) + 1):
        for chosen in itertools.combinations(range(len(powers)), count):
            found = _exact(sizes, products[:, chosen])
            if found is not None:
                return Law(powers[list(chosen)], found, 0.0)
    return _nearest(sizes, products, powers)


def _exact(sizes: Floats, products: Floats) -> Floats | None:
    """Factors that give the sizes exactly; None: there are none."""
    scale = products.max(axis=0)
    factors = np.linalg.lstsq(products / scale, sizes, rcond=None)[0] / scale
    off = np.abs(products @ factors - sizes)
    exact = bool((off <= np.maximum(0.5, _EXACT * np.abs(sizes))).all())
    return factors if exact and _plausible(factors, sizes, products) else None


def _plausible(factors: Floats, sizes: Floats, products: Floats) -> bool:
    """No product is there only to cancel another."""
    parts = np.abs(products * factors).max(axis=0)
    return bool((parts <= 2 * np.abs(sizes).max() + 1).all())


def _nearest(sizes: Floats, products: Floats, powers: NDArray[np.int64]) -> Law:
    """The single product that comes nearest, by the largest log error."""
    logs = np.log(np.maximum(sizes, 1e-9))[:, None] - np.log(products)
    middle = (logs.max(axis=0) + logs.min(axis=0)) / 2
    error = (logs.max(axis=0) - logs.min(axis=0)) / 2
    best = int(np.argmin(error + 1e-9 * powers.sum(axis=1)))
    return Law(powers[best : best + 1], np.exp(middle[best : best + 1]), float(error[best]))


@lru_cache(maxsize=8)
def _powers(count: int) -> NDArray[np.int64]:
    """Powers of the products that are tried, the simplest first: each up to 2, in all up to 3."""
    every = [p for p in itertools.product(range(3), repeat=count) if sum(p) <= 3]
    return np.array(sorted(every, key=lambda p: (sum(p), sum(1 for x in p if x), p)), dtype=np.int64)
