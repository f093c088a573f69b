"""A played step as a table, for those who cannot see its picture: operations by their time."""

from __future__ import annotations

from dataclasses import dataclass

from breakeven.results.pictured import PlayedStep
from breakeven.units import NS_PER_MS

_MOST = 25


@dataclass(frozen=True)
class Operation:
    """One operation on one lane."""

    name: str
    lane: str
    count: int
    ms: float
    places: tuple[str, ...]


def operations(step: PlayedStep) -> tuple[Operation, ...]:
    """The operations that take most time, a row for each lane that they lie on."""
    total: dict[tuple[int, int], int] = {}
    count: dict[tuple[int, int], int] = {}
    places: dict[tuple[int, int], dict[str, None]] = {}
    bars = step.bars
    for name, lane, length, line in zip(bars.name, bars.lane, bars.duration_ns, bars.line, strict=True):
        key = (name, lane)
        total[key] = total.get(key, 0) + length
        count[key] = count.get(key, 0) + 1
        if line >= 0:
            places.setdefault(key, {})[step.places[line]] = None
    dearest = sorted(total, key=lambda key: (-total[key], key))[:_MOST]
    return tuple(
        Operation(step.names[n], step.lanes[i], count[n, i], total[n, i] / NS_PER_MS, tuple(places.get((n, i), ()))[:3])
        for n, i in dearest
    )
