"""A step's time as a joint distribution: what is uncertain together moves together, and the draws go through the array path.

One factor for the host's framework, shared by all rows; one for the host's speed, shared by all its work; one per pricing
family, since the error of a formula repeats in every call that it prices; and a part of each call's own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.simulate.arrays import step_ns
from breakeven.simulate.inputs import CallPrices, Floats, HostSide
from breakeven.simulate.schedule import Ints, Schedule, schedule
from breakeven.timeline import OpStream
from breakeven.units import NS_PER_MS

#: Half the width of a 90 % interval of a normal distribution, in standard deviations.
Z90: Final = 1.6448536269514722

#: Part of a price's variance (log scale) that all calls of its family share. A choice on the safe side, not a measurement:
#: at 1 the errors of a step would add in full, at 0 they would cancel out; one formula and one set of constants price the
#: whole family, so most of the error is common.
SHARED_VARIANCE: Final = 0.9

#: Most entries (issues × draws) under way at once: 32 MB per array of 64-bit numbers.
MOST_ENTRIES: Final = 1 << 22
#: Most issues that the draws play. Of a longer stream they play stretches spread evenly over it, which hold the same
#: mix of work, and their spread about the stretches' own mid is carried over to the whole.
MOST_ISSUES: Final = 1 << 15
#: Issues of one such stretch: four launch queues.
_STRETCH: Final = 1 << 12


@dataclass(frozen=True)
class StepPrediction:
    """A step's predicted time: 90 % interval and the draws behind it, in milliseconds.

    Attributes:
        low: 5 % of the draws are below.
        mid: the simulation at mid prices.
        high: 5 % of the draws are above.
        draws: shape (n,); two predictions with one seed share the host's and the families' factors draw by draw.
    """

    low: float
    mid: float
    high: float
    draws: Floats


@dataclass(frozen=True)
class Factors:
    """Random factors of `draws` worlds, the same for every stream that is priced in them.

    Attributes:
        framework: of the host's framework time, in standard deviations, shape (draws,).
        speed: of the host's speed, shape (draws,).
        seed: where the factors of families and calls come from.
    """

    framework: Floats
    speed: Floats
    seed: int

    @classmethod
    def of(cls, draws: int, seed: int) -> Factors:
        """The worlds of a seed."""
        random = np.random.default_rng([seed, 0])
        return cls(random.standard_normal(draws), random.standard_normal(draws), seed)


def step_ms(
    stream: OpStream, costs: CallPrices, host: HostSide, *, draws: int = 200, seed: int = 0, scale_log_sigma: float = 0.0
) -> StepPrediction:
    """Predict the time of a step in the steady state, milliseconds.

    Args:
        stream: one or more recorded steps.
        costs: prices per distinct call.
        host: the host's times per row.
        draws: how many; of a stream of very many rows they play a part (`MOST_ISSUES`).
        seed: of the draws; the same seed pairs predictions (subtract or divide them draw by draw).
        scale_log_sigma: uncertainty (log scale) of this host's speed against the one it was measured on.
    """
    plan = schedule(stream, costs, host)
    if not len(plan) or plan.steps == plan.skip:
        return StepPrediction(0.0, 0.0, 0.0, np.zeros(draws))
    mid = float(step_ns(plan)[0]) / NS_PER_MS
    part = stretches(plan)
    sample = _draw(part, costs, host, Factors.of(draws, seed), scale_log_sigma) / NS_PER_MS
    if part is not plan:
        sample *= mid / (float(step_ns(part)[0]) / NS_PER_MS)
    low, high = np.quantile(sample, [0.05, 0.95])
    return StepPrediction(min(float(low), mid), mid, max(float(high), mid), sample)


def call_factors(costs: CallPrices, factors: Factors) -> Floats:
    """What each call's mid price is multiplied by, shape (calls, draws).

    The 5 % and 95 % quantiles of a call alone are its low and high price: below mid the log scale is that of low, above
    it that of high.
    """
    low, mid, high = (np.maximum(part, 1e-3) for part in costs.device_ns)
    down, up = np.maximum(np.log(mid / low), 0) / Z90, np.maximum(np.log(high / mid), 0) / Z90
    z = _deviations(factors.seed, tuple(costs.family.tolist()), len(factors.framework))
    scaled: Floats = np.exp(z * np.where(z < 0, down[:, None], up[:, None]))
    return scaled


@lru_cache(maxsize=1)  # the cells of a sweep ask for the same ones again and again
def _deviations(seed: int, families: tuple[str, ...], draws: int) -> Floats:
    """Each call's factor in standard deviations, its family's in it, shape (calls, draws)."""
    family = np.array(families, dtype=np.str_)
    z = sqrt(1 - SHARED_VARIANCE) * np.random.default_rng([seed, 2]).standard_normal((len(family), draws))
    for name in np.unique(family):
        z[family == name] += sqrt(SHARED_VARIANCE) * _of_family(seed, str(name), draws)
    z.flags.writeable = False
    return z


def _of_family(seed: int, family: str, draws: int) -> Floats:
    return np.random.default_rng([seed, 1, *family.encode()]).standard_normal(draws)


def stretches(plan: Schedule) -> Schedule:
    """The schedule itself, or of a very long one evenly spread stretches, one after another as one step."""
    if len(plan) <= MOST_ISSUES:
        return plan
    starts = np.linspace(0, len(plan) - _STRETCH, MOST_ISSUES // _STRETCH).astype(np.int64)
    at = (starts[:, None] + np.arange(_STRETCH)).ravel()
    place = np.full(len(plan), -1, dtype=np.int32)
    place[at] = np.arange(len(at), dtype=np.int32)

    def moved(link: NDArray[np.int32]) -> NDArray[np.int32]:
        there = np.where(link[at] >= 0, place[np.maximum(link[at], 0)], -1)
        return np.where(there <= np.arange(len(at)), there, -1).astype(np.int32)

    return replace(
        plan, before_ns=plan.before_ns[at], issue_ns=plan.issue_ns[at], device_ns=plan.device_ns[at], engine=plan.engine[at],
        stream=plan.stream[at], kernels=plan.kernels[at], waits=moved(plan.waits), after=moved(plan.after),
        takes=plan.takes[at], row=plan.row[at], step=np.zeros(len(at), dtype=np.int32), skip=0,
    )  # fmt: skip


def _draw(plan: Schedule, costs: CallPrices, host: HostSide, factors: Factors, scale_log_sigma: float) -> NDArray[np.float64]:
    """Step times of all draws, ns, a block of draws at a time."""
    of_call = call_factors(costs, factors)
    call = plan.call
    speed = np.exp(factors.speed * scale_log_sigma)
    framework = np.exp(factors.framework * host.log_sigma) * speed
    block = max(1, MOST_ENTRIES // len(plan))
    out = []
    for a in range(0, len(speed), block):
        b = slice(a, a + block)
        host_ns = _rounded(plan.before_ns[:, None] * speed[b] + plan.issue_ns[:, None] * framework[b])
        device_ns = _rounded(plan.device_ns[:, None] * of_call[:, b][call])
        out.append(step_ns(plan, host_ns, device_ns))
    return np.concatenate(out)


def _rounded(values: Floats) -> Ints:
    return np.rint(values, out=values).astype(np.int64)
