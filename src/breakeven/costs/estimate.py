"""From an operation's parts and their fitted models to a time with its interval, for one call or for a table of them."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part
from breakeven.costs.models import MOSTLY, TINY, Model, model
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
    found: tuple[Values, ...] = ()

    def wanted(variant: str) -> Container[str]:
        return model(variant, task.rates, task.dtype, task.graph).names

    for part in task.operation.parts(x, task.operation.name, task.direction, task.dtype, sizes, task.rates, wanted):
        one = _of_part(x, task, part)
        if part.instead is not None:
            one = _quicker(x, one, _of_part(x, task, part.instead), part.may)
        found = one if not found else tuple([a + b for a, b in zip(found, one, strict=True)])
    low, mid, high, *shares = found
    return low, mid, high, _limit(x, shares)


def _of_part(x: Arithmetic, task: Job, part: Part) -> tuple[Values, ...]:
    """Low, mid and high of one part, and its µs of compute, traffic and fixed time."""
    fitted = model(part.variant, task.rates, task.dtype, task.graph)
    found = _by(x, fitted, part)
    for other in fitted.others:
        found = _quicker(x, found, _by(x, other, part), True)
    return found


def _quicker(x: Arithmetic, one: tuple[Values, ...], other: tuple[Values, ...], may: Values) -> tuple[Values, ...]:
    """The quicker of two ways, where there may be another."""
    better = may & (other[1] < one[1])
    return tuple([x.where(better, there, here) for there, here in zip(other, one, strict=True)])


def _by(x: Arithmetic, fitted: Model, part: Part) -> tuple[Values, ...]:
    compute, traffic, fixed = terms = fitted.terms(part)
    plain = x.maximum(compute + traffic + fixed, 1e-9)
    share = fitted.base(part) / plain
    factor = part.times * fitted.correction(x, part, plain, share)
    least = part.times * part.least
    time = x.maximum(plain * factor, least)
    regime = x.where(share >= MOSTLY, TINY, 3 * part.kind + _limit(x, terms))
    low = x.maximum(x.take(*fitted.low, regime) * time, least)
    return low, time, x.take(*fitted.high, regime) * time, factor * compute, factor * traffic, factor * fixed


def _limit(x: Arithmetic, terms: Sequence[Values]) -> Values:
    """Index into `LIMITS` of the largest of compute, traffic and fixed time."""
    compute, traffic, fixed = terms
    return x.where(fixed >= x.maximum(compute, traffic), 2, x.where(compute >= traffic, 0, 1))
