"""What one piece of work asks of a device, before any constant is fitted."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Final, NamedTuple, TypeAlias

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.rates import Rates

#: Names of the terms that have a weight, by variant: the dear ones among the others need not be worked out.
Wanted: TypeAlias = Callable[[str], Container[str]]


class Part(NamedTuple):  # and not a dataclass: a frozen one takes longer to make than to price
    """One kernel, or a chain of equal ones. Its time is a sum of its terms, each times a fitted weight that is never negative.

    No term and no coordinate falls when a size grows: so nor does the price.

    Attributes:
        variant: which fitted weights apply: an operation, or a way of running it.
        compute: terms of arithmetic, by name: µs at the device's peak rate.
        traffic: terms of memory traffic: µs at the data sheet's bandwidth (a copy's: the link's).
        fixed: terms that no rate shortens: kernels, time steps, lengths of chains.
        coordinates: where in the table of corrections it lies, as logarithms to base 2.
        least: µs that the roofline allows at best.
        times: how many times it runs, one after another.
        kind: 0, 1 or 2: kinds of shape whose prices err differently, for the intervals.
        instead: another way of running the same work, taken where `may` says so and it is quicker.
    """

    variant: str
    compute: Mapping[str, Values]
    traffic: Mapping[str, Values]
    fixed: Mapping[str, Values]
    coordinates: tuple[Values, ...]
    least: Values
    times: Values = 1.0
    kind: Values = 0
    instead: Part | None = None
    may: Values = False

    def repeated(self, times: Values) -> Part:
        """The same work, so many times over."""
        other = None if self.instead is None else self.instead.repeated(times)
        return self._replace(times=self.times * times, instead=other)


#: Share of a term in waves that grows with the work itself; the rest goes up in steps of whole waves. (Blocks of a wave do not
#: all end together, so the step is softer than a whole wave. It also keeps every price rising between the steps.)
SMOOTH: Final = 0.3


#: Operations and bytes of the smallest products and time steps that were measured in loops (DeepBench: 16 × 512 × 512, 8.4 MFLOP,
#: 1.1 MB). What was read off these and larger ones fades out below.
_LEAST_FLOPS: Final = 8e6
_LEAST_BYTES: Final = 1e6


def ramp(flops: Values, moved: Values) -> Values:
    """Share of a large shape's own start-up that a call of so many operations and bytes has: 0 to 1."""
    size = flops / _LEAST_FLOPS + moved / _LEAST_BYTES
    return size * size / (size * size + 0.25)


def waves(x: Arithmetic, tiles: Values, tile_us: Values, flops_us: Values, sms: float) -> Values:
    """µs of so many tiles in waves over the multiprocessors, at the peak rate.

    Args:
        tiles: how many tiles of output there are.
        tile_us: µs that one tile would take with the whole device to itself, at peak.
        flops_us: µs of the operation's own arithmetic at peak.
        sms: multiprocessors.
    """
    return SMOOTH * flops_us + (1.0 - SMOOTH) * x.ceil(tiles / sms) * tile_us * sms


def uncached(x: Arithmetic, moved: Values, r: Rates) -> Values:
    """µs that so many bytes take at the memory's data-sheet rate, where no cache can hold half of them; else nothing."""
    return x.where(moved > 2.0 * r.cache_bytes, moved / r.bandwidth, 0.0)
