"""The two tables: what the host asked for (OpStream, no clock) and what happened when (Timeline)."""

from __future__ import annotations

from breakeven.timeline.opstream import OpStream, OpStreamBuilder, Site
from breakeven.timeline.parquet import stream_from_parquet, stream_to_parquet, timeline_from_parquet, timeline_to_parquet
from breakeven.timeline.repairs import Repair, repaired
from breakeven.timeline.timeline import Lane, Origin, Timeline, TimelineBuilder

__all__ = [
    "Lane", "OpStream", "OpStreamBuilder", "Origin", "Repair", "Site", "Timeline", "TimelineBuilder", "repaired",
    "stream_from_parquet", "stream_to_parquet", "timeline_from_parquet", "timeline_to_parquet",
]  # fmt: skip
