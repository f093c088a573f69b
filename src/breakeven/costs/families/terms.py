"""What an operation asks of a device, before any constant is fitted: times at the data sheet's rates, and counts."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.costs.arithmetic import Values


@dataclass(frozen=True)
class Terms:
    """The parts of a price.

    Attributes:
        arithmetic: µs of its operations at the device's peak, waves of tiles included.
        traffic: µs of its bytes at the memory's (a copy: the link's) data-sheet rate.
        chain: how often it waits for itself: time steps, passes over the reduced dimension.
        kernels: kernels that it launches, at least 1.
        least: µs that no device of these rates can beat (the roofline's floor).
    """

    arithmetic: Values
    traffic: Values
    chain: Values
    kernels: Values
    least: Values


def scaled(terms: Terms, times: Values) -> Terms:
    """The same work done `times` times, one after another."""
    return Terms(terms.arithmetic * times, terms.traffic * times, terms.chain * times, terms.kernels * times, terms.least * times)
