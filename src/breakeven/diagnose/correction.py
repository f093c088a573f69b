"""What settled forecasts teach about a device: factors on its prices and on its host's times, with their uncertainty.

One measured step says one number, and both the device's prices and the host's times can be at fault. How much each is blamed
follows from how much the step depends on it (its part), as in a linear regression on logarithms with a prior about 1 (Gelman et
al., Bayesian Data Analysis, 3rd ed., section 14.8). A step that only waits for its host teaches nothing about the device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.costs.calls import CallCosts
from breakeven.costs.host import HostTimes
from breakeven.diagnose.pricing import Pricing
from breakeven.results.records import Interval
from breakeven.results.settled import Lesson
from breakeven.simulate.inputs import HostSide
from breakeven.timeline import OpStream

#: Part of a prediction's variance (log scale) that all jobs on a device share, and that a card can therefore take away; the rest
#: is the single job's. Of the squared median error on devices left out of the fit, docs/accuracy.md gives 51 % (conv2d) to 90 %
#: (recurrent) to the device, and little on devices that were fitted; half is assumed, until settled forecasts say otherwise.
SHARED: Final = 0.5
#: By how much prices are changed to see what the step depends on.
_NUDGE: Final = 1.1
_Z90: Final = 1.6448536269514722


@dataclass(frozen=True)
class Correction:
    """Factors on one device in one host, as logarithms.

    Attributes:
        device: mean factor on the device's prices.
        host: mean factor on the host's times.
        covariance: of the two, as a part of the prior's variance, shape (2, 2); the identity: nothing was learned.
        prior: standard deviation of the prior.
        lessons: settled forecasts behind it.
    """

    device: float
    host: float
    covariance: NDArray[np.float64]
    prior: float
    lessons: int

    def factor(self, which: int) -> Interval:
        """The factor on the device (0) or the host (1) with its 90 % interval."""
        mid, half = (self.device, self.host)[which], _Z90 * self.prior * math.sqrt(max(0.0, self.covariance[which, which]))
        return Interval(math.exp(mid - half), math.exp(mid), math.exp(mid + half))


def learned(lessons: Sequence[Lesson], host: str) -> Correction | None:
    """What these lessons about a device say where it sits in this host; None: there are none.

    Of several lessons on one job in one host the last one counts: the job's own error is the same in all of them.
    """
    last = list({(lesson.fingerprint, lesson.host): lesson for lesson in lessons}.values())
    if not last:
        return None
    hosts = list(dict.fromkeys([host, *(lesson.host for lesson in last)]))
    prior = SHARED * float(np.median([lesson.sigma**2 for lesson in last]))
    weights, ratios = np.zeros((len(last), 1 + len(hosts))), np.array([lesson.log_ratio for lesson in last])
    for at, lesson in enumerate(last):
        weights[at, [0, 1 + hosts.index(lesson.host)]] = lesson.device_part, lesson.host_part
    noise = np.array([(1 - SHARED) * lesson.sigma**2 + lesson.measured_sigma**2 for lesson in last])
    covariance = np.linalg.inv(np.eye(1 + len(hosts)) / prior + weights.T @ (weights / noise[:, None]))
    mean = covariance @ weights.T @ (ratios / noise)
    return Correction(float(mean[0]), float(mean[1]), covariance[:2, :2] / prior, math.sqrt(prior), len(last))


def parts(pricing: Pricing[CallCosts], stream: OpStream) -> tuple[float, float]:
    """How much of a small relative change of the device's prices, and of the host's times, the step takes on."""
    usual = pricing.middle(stream)
    if usual <= 0:
        return 0.0, 0.0
    changed = (pricing.middle(stream) for pricing in (scaled(pricing, _NUDGE, 1.0), scaled(pricing, 1.0, _NUDGE)))
    device, host = (max(0.0, math.log(ms / usual) / math.log(_NUDGE)) for ms in changed)
    return device, host


def scaled(pricing: Pricing[CallCosts], device: float, host: float) -> Pricing[CallCosts]:
    """The pricing with every price of the device, and every time of the host, multiplied."""

    def costs(stream: OpStream) -> CallCosts:
        plain = pricing.costs(stream)
        return replace(plain, device_ns=plain.device_ns * device)

    def times(stream: OpStream, priced: CallCosts) -> HostSide:
        plain = pricing.host(stream, priced)
        if not isinstance(plain, HostTimes):
            raise TypeError(f"host times of a script are HostTimes, not {type(plain).__name__}")
        return replace(plain, before_ns=plain.before_ns * host, issue_ns=plain.issue_ns * host)

    return replace(pricing, costs=costs, host=times)


def corrected(pricing: Pricing[CallCosts], correction: Correction, stream: OpStream) -> Pricing[CallCosts]:
    """The pricing as the lessons have it: its middle moved, and its interval narrower by what they made known."""
    moved = scaled(pricing, math.exp(correction.device), math.exp(correction.host))
    weights = np.array(parts(pricing, stream))
    whole = float(weights @ weights)
    kept = float(weights @ correction.covariance @ weights) / whole if whole > 0 else 1.0
    return replace(moved, spread=math.sqrt(1 - SHARED + SHARED * min(1.0, kept)))
