"""`devices`: what this machine has, whether it can be used, and if not why."""

from __future__ import annotations

from breakeven.measure.here.look import look
from breakeven.measure.here.surroundings import Surroundings
from breakeven.results.devices import DevicesReport


def devices(around: Surroundings | None = None) -> DevicesReport:
    """Look at a machine: this one unless its surroundings are given."""
    return look(around or Surroundings())
