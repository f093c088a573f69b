"""Which value of a user's script a parameter's name means, found in the source without running it."""

from __future__ import annotations

from breakeven.sweep.names.found import Found, Span
from breakeven.sweep.names.search import bind, candidates

__all__ = ["Found", "Span", "bind", "candidates"]
