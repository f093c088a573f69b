"""Timeline: what happened when. Events on lanes, whole nanoseconds, blind to whether it was measured, simulated or imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from breakeven.timeline import schema
from breakeven.timeline.opstream import Site


@dataclass(frozen=True)
class Lane:
    """Where events lie one after another (or nested): a host thread, a loader worker, a device's stream or copy engine."""

    kind: str  # host | loader | stream | copy
    device: str  # "cpu" for host lanes, else the device's name in this timeline, such as "cuda:0"
    name: str = ""


@dataclass(frozen=True)
class Origin:
    """Where a timeline comes from."""

    how: str  # measured | simulated | imported
    machine: Mapping[str, Any] = field(default_factory=dict)  # fingerprint: JSON values
    versions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timeline:
    """Frozen table of events (columns `schema.EVENTS`), sorted by start, then by lane, longer first."""

    events: pl.DataFrame
    lanes: tuple[Lane, ...]
    origin: Origin
    sites: tuple[Site, ...] = ()

    def __len__(self) -> int:
        return self.events.height


@dataclass
class TimelineBuilder:
    """Collects events; `build` checks the invariants, sorts, and freezes. The one way a Timeline is made."""

    lanes: list[Lane] = field(default_factory=list)
    _columns: dict[str, list[Any]] = field(default_factory=lambda: {c.name: [] for c in schema.EVENTS})
