"""The two tables: what the host asked for (OpStream, no clock) and what happened when (Timeline)."""

from __future__ import annotations

from breakeven.timeline.opstream import OpStream, OpStreamBuilder, Site
from breakeven.timeline.timeline import Lane, Origin, Timeline, TimelineBuilder

__all__ = ["Lane", "OpStream", "OpStreamBuilder", "Origin", "Site", "Timeline", "TimelineBuilder"]
