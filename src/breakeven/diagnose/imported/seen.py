"""Some events of a timeline as rules ask for them: which, how many, how long, called what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from breakeven.timeline import Timeline, schema
from breakeven.timeline.intervals import Ints
from breakeven.timeline.timeline import column
from breakeven.units import NS_PER_MS

_LONGEST: Final = 60
_Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Seen:
    """Some events.

    Attributes:
        timeline: they are of this one.
        at: their positions, in order.
    """

    timeline: Timeline
    at: Ints

    def __len__(self) -> int:
        return len(self.at)

    def where(self, mask: _Bools) -> Seen:
        """Those of them for which this holds; one value for each of them, or for each event of the timeline."""
        return Seen(self.timeline, self.at[mask if len(mask) == len(self.at) else mask[self.at]])

    def of_kind(self, *kinds: str) -> Seen:
        """Those of these kinds."""
        return self.where(self.timeline.kinds.among(*kinds)[self.at])

    def named(self, pattern: re.Pattern[str]) -> Seen:
        """Those in whose name the pattern is found."""
        names = self.timeline.names
        codes = names.codes[self.at]
        holds = np.zeros(len(names.values), dtype=np.bool_)
        for code in np.flatnonzero(np.bincount(codes)).tolist():
            holds[code] = pattern.search(names.values[code]) is not None
        return self.where(holds[codes])

    def containing(self, *parts: str) -> Seen:
        """Those whose names hold one of these parts, in lower case or not."""
        return self.where(self.timeline.names.containing(*parts)[self.at])

    @property
    def start(self) -> Ints:
        """Their starts, ns."""
        return column(self.timeline.events, schema.EVENT_START)[self.at]

    @property
    def duration(self) -> Ints:
        """Their lengths, ns."""
        return column(self.timeline.events, schema.EVENT_DURATION)[self.at]

    @property
    def lane(self) -> Ints:
        """Their lanes."""
        return column(self.timeline.events, schema.EVENT_LANE)[self.at]

    @property
    def bytes(self) -> Ints:
        """Bytes of each; -1: not known, or no copy."""
        return column(self.timeline.events, schema.EVENT_BYTES)[self.at]

    @property
    def link(self) -> Ints:
        """The event that caused each; -1: not known."""
        return column(self.timeline.events, schema.EVENT_LINK)[self.at]

    @property
    def total_ms(self) -> float:
        """Their lengths together."""
        return float(self.duration.sum()) / NS_PER_MS

    def by_name(self) -> list[tuple[str, int, int]]:
        """Name, how many and nanoseconds together, the dearest first."""
        names = self.timeline.names
        codes = names.codes[self.at]
        spent = np.bincount(codes, weights=self.duration, minlength=len(names.values))
        count = np.bincount(codes, minlength=len(names.values))
        there = [(names.values[i], int(count[i]), int(spent[i])) for i in np.flatnonzero(count).tolist()]
        return sorted(there, key=lambda one: (-one[2], one[0]))

    def longest(self, most: int = 2) -> str:
        """Names of those that take most time together, shortened."""
        return ", ".join(short(name) for name, _, _ in self.by_name()[:most])


def short(name: str) -> str:
    """A kernel's or an operation's name as a sentence can hold it: without what stands in brackets.

    >>> short("void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(float*, long)")
    'at::native::indexSelectLargeIndex'
    """
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "").split("(")[0].split("<")[0].strip() or name
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"
