"""From an operation's parts and their fitted models to a time with its interval, for one call or for a table of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.models import model
from breakeven.costs.operations import DTYPES, OPERATIONS, Operation
from breakeven.costs.rates import NotPricedError, Rates, rates
from breakeven.machine.records import Gpu

#: What limits a time, in the order of `estimate`'s index.
LIMITS: Final = ("compute", "bandwidth", "small_kernel")


@dataclass(frozen=True)
class Job:
    """What all rows of a group share."""

    operation: Operation
    dtype: str
    direction: str
    graph: bool
    rates: Rates


@lru_cache(maxsize=8192)
def job(op: str, dtype: str, direction: str, graph: bool, gpu: Gpu) -> Job:
    """Check the words of a row.

    Raises:
        NotPricedError: one of them is not of the vocabulary, or the device has no such arithmetic.
    """
    operation = OPERATIONS.get(op)
    if operation is None:
        raise NotPricedError(f"unknown operation {op!r}")
    if dtype not in DTYPES:
        raise NotPricedError(f"unknown dtype {dtype!r}: one of {', '.join(DTYPES)}")
    if direction not in operation.directions:
        raise NotPricedError(f"{op} has no direction {direction!r}: one of {', '.join(operation.directions)}")
    device = rates(gpu)
    if dtype not in device.vector:
        raise NotPricedError(f"no {dtype} rate is known for {gpu.name}")
    return Job(operation, dtype, direction, graph, device)


def estimate(x: Arithmetic, task: Job, sizes: Mapping[str, Values]) -> tuple[Values, Values, Values, Values]:
    """Low, mid and high time in µs, and the index of what limits it.

    A sum of parts adds their bounds: parts of one operation err together.
    """
    low: Values = 0.0
    mid: Values = 0.0
    high: Values = 0.0
    shares: list[Values] = [0.0, 0.0, 0.0]

    def wanted(variant: str) -> Container[str]:
        return model(variant, task.rates, task.dtype, task.graph).names

    for part in task.operation.parts(x, task.operation.name, task.direction, task.dtype, sizes, task.rates, wanted):
        fitted = model(part.variant, task.rates, task.dtype, task.graph)
        terms = fitted.terms(part)
        factor = part.times * fitted.correction(x, part)
        least = part.times * part.least
        time = x.maximum((terms[0] + terms[1] + terms[2]) * factor, least)
        limit = _limit(x, terms)
        regime = 3 * part.kind + limit
        low = low + x.maximum(x.take(*fitted.low, regime) * time, least)
        mid = mid + time
        high = high + x.take(*fitted.high, regime) * time
        shares = [share + factor * term for share, term in zip(shares, terms, strict=True)]
    return low, mid, high, _limit(x, shares)


def _limit(x: Arithmetic, terms: Sequence[Values]) -> Values:
    """Index into `LIMITS` of the largest of compute, traffic and fixed time."""
    compute, traffic, fixed = terms
    return x.where(fixed >= x.maximum(compute, traffic), 2, x.where(compute >= traffic, 0, 1))
