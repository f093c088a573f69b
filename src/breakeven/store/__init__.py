"""A run is a folder, written whole or not at all: `create` begins one, `open` reads one, `Run.put` keeps a finished part."""

from __future__ import annotations

from breakeven.store.head import RunHead
from breakeven.store.run import Run, Whole, check_free, create, write_run
from breakeven.store.run import open_run as open  # noqa: A004  # `store.open(path)` is what it does

__all__ = ["Run", "RunHead", "Whole", "check_free", "create", "open", "write_run"]
