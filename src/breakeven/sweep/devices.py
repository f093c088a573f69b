"""Steps of one device at any values of the parameters: measured ones as they are, the others by a law or between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.works.effort import effort
from breakeven.results.records import Interval
from breakeven.stats import draws_of
from breakeven.sweep.aligned import Aligned, Kernel
from breakeven.sweep.positive import Fit, fit, shares
from breakeven.sweep.scaled import Laws, Steps

Floats = NDArray[np.float64]

#: Cells are the same where they lie no farther apart than this (in the grid's own measure).
SAME: Final = 1e-9
#: Log error of an interpolation that too few cells can check: a factor of 1.5 each way at 90 %; assumed.
UNCHECKED: Final = 0.25
Z90: Final = 1.6448536269514722

#: What a time may be made of, at the parameters: shape (m, d) to (m, f).
Features = Callable[[Floats], Floats]


class Device(Protocol):
    """Steps of one device at any values."""

    def steps(self, parameters: Floats, at: Floats) -> Steps:
        """Middles and draws; as `Scaled.steps`."""


@dataclass(frozen=True)
class Between:
    """Cells that are known, and the others by a sum of positive parts fitted to them.

    Attributes:
        features: what the time may be made of.
        fitted: the fit.
        at: where the known cells lie, shape (n, d).
        mid: their middles in ms, shape (n,).
        relative: their draws over their middles, shape (n, draws).
        shared: standard normal draws that the law's error is made with, shape (draws,).
        error: log error of the law away from the known cells.
    """

    features: Features
    fitted: Fit
    at: Floats
    mid: Floats
    relative: Floats
    shared: Floats
    error: float

    def steps(self, parameters: Floats, at: Floats) -> Steps:
        """Known cells as they are; the others with the law's error, the more the farther they are from known ones."""
        mid = self.fitted.value(self.features(parameters), at)
        apart = np.sqrt(np.square(at[:, None, :] - self.at[None, :, :]).sum(axis=2))
        nearest = np.argmin(apart, axis=1)
        known = apart[np.arange(len(at)), nearest] < SAME
        mid = np.where(known, self.mid[nearest], mid)
        noise = np.exp(shares(at, self.at) @ np.log(self.relative))
        noise = np.where(known[:, None], self.relative[nearest], noise)
        far = np.where(known, 0.0, np.minimum(1.0, apart.min(axis=1) / _reach(self.at)))
        return Steps(mid, mid[:, None] * noise * np.exp(self.error * far[:, None] * self.shared[None]))


def _reach(at: Floats) -> float:
    """Distance from a known cell at which the law's error counts in full: half of that to its nearest neighbour."""
    if len(at) < 2:
        return 0.25
    apart = np.sqrt(np.square(at[:, None] - at[None]).sum(axis=2))
    np.fill_diagonal(apart, np.inf)
    return max(float(np.median(apart.min(axis=1))) / 2, SAME)


def measured(features: Features, parameters: Floats, at: Floats, steps: Sequence[Interval], draws: int, seed: int) -> Between:
    """A device that was measured at some cells; the noise of each is its own."""
    each = [draws_of(*_positive(s), draws=draws, seed=seed + 1 + n) / s.mid for n, s in enumerate(steps)]
    return _between(features, parameters, at, np.array([s.mid for s in steps]), np.stack(each), seed)


def predicted(features: Features, parameters: Floats, at: Floats, steps: Sequence[Steps], seed: int) -> Between:
    """A device that was predicted at some cells, each from its own recording; their draws belong to each other."""
    mid = np.array([float(s.mid[0]) for s in steps])
    return _between(features, parameters, at, mid, np.stack([s.draws[0] / s.mid[0] for s in steps]), seed)


def _between(features: Features, parameters: Floats, at: Floats, mid: Floats, relative: Floats, seed: int) -> Between:
    fitted = fit(features(parameters), mid, at)
    error = fitted.error if np.isfinite(fitted.error) else UNCHECKED
    shared = np.random.default_rng([seed, 11]).standard_normal((relative.shape[1],))
    return Between(features, fitted, at, mid, relative, shared, error)


def _positive(step: Interval) -> tuple[float, float, float]:
    return max(min(step.low, step.mid), step.mid * 1e-3), step.mid, max(step.high, step.mid)


@dataclass(frozen=True)
class Work:
    """A CPU's time as set-up of each operation, arithmetic and traffic, which the law of sizes gives at any values."""

    aligned: Aligned
    laws: Laws

    def __call__(self, parameters: Floats) -> Floats:
        """A constant, flops and bytes of a step, shape (m, 3)."""
        repeats = np.bincount(self.aligned.kernel, minlength=len(self.aligned.kernels))
        total = np.zeros((len(parameters), 2))
        for kernel, one, times in zip(self.aligned.kernels, self.laws.laws, repeats, strict=True):
            sizes = np.stack([law.values(parameters) for law in one], axis=1).astype(np.int64)
            distinct, where = np.unique(sizes, axis=0, return_inverse=True)
            total += times * np.array([_effort(kernel, row) for row in distinct])[where.ravel()]
        return np.concatenate([np.ones((len(parameters), 1)), total], axis=1)


def _effort(kernel: Kernel, row: NDArray[np.int64]) -> tuple[float, float]:
    sizes = tuple((c, int(v)) for c, v in zip(kernel.columns[:-1], row[:-1], strict=True))
    spent = effort(replace(kernel.like, sizes=sizes, count=int(row[-1])))
    return spent.flops, spent.bytes


@dataclass(frozen=True)
class Powers:
    """Where no law of sizes is known: a constant, each parameter, their product, and that times each again."""

    def __call__(self, parameters: Floats) -> Floats:
        """Shape (m, f)."""
        product = np.prod(parameters, axis=1, keepdims=True)
        columns = [np.ones((len(parameters), 1)), parameters, product * parameters]
        if parameters.shape[1] > 1:
            columns.append(product)
        return np.concatenate(columns, axis=1)


@dataclass(frozen=True)
class Either:
    """Arithmetic and traffic, and beside them the parameters' powers: a CPU also takes time by what neither says.

    The memory of a large tensor is handed back to the system and faulted in again, step by step, in some cells and not in others
    (a factor of 1.8 was measured between neighbours); it goes with the batch more than with the traffic.
    """

    work: Work

    def __call__(self, parameters: Floats) -> Floats:
        """Shape (m, f)."""
        return np.concatenate([self.work(parameters), Powers()(parameters)[:, 1:]], axis=1)


def features_of(work: Work | None, parameters: Floats) -> Features:
    """What a CPU's time may be made of: as much as the timed cells can tell apart.

    Args:
        work: arithmetic and traffic; None: no law of sizes is known.
        parameters: of the timed cells, shape (n, d).
    """
    if work is None:
        return Powers()
    both = Either(work)
    return both if len(parameters) > both(parameters[:1]).shape[1] else work
