"""Timelines to trace files."""

from __future__ import annotations

from breakeven.writers.chrome import to_chrome
from breakeven.writers.speedscope import to_speedscope

__all__ = ["to_chrome", "to_speedscope"]
