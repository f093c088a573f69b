"""What else the machine does while something is timed: whether the figure is to be trusted."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

#: Processor time of others, in cores, from which on a measurement counts as disturbed. A quiet machine's daemons take a few
#: hundredths of a core.
DISTURBED: Final = 0.15


@dataclass(frozen=True)
class Load:
    """Processor time of other processes.

    Attributes:
        seconds: how long was looked.
        cores: cores that others kept busy meanwhile, on average.
    """

    seconds: float
    cores: float

    @property
    def disturbed(self) -> bool:
        """Whether others were at work as well."""
        return self.cores > DISTURBED


@contextmanager
def others() -> Iterator[Callable[[], Load]]:
    """Hands out a function that says, after the block, what others did during it.

    The machine's busy time less that of this process and of the children that it has waited for.
    """
    began, busy, own = time.monotonic(), _busy_s(), _own_s()
    ended: list[Load] = []
    try:
        yield lambda: ended[0]
    finally:
        seconds = max(1e-9, time.monotonic() - began)
        now = _busy_s()
        cores = 0.0 if busy is None or now is None else max(0.0, (now - busy - (_own_s() - own)) / seconds)
        ended.append(Load(seconds, cores))


def _busy_s() -> float | None:
    try:
        import psutil  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        return None
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _own_s() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system
