"""Who else uses the machine while it is measured: the system's counters before and after.

On Linux those of the kernel; elsewhere those of psutil, and where it is not installed nothing is said.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from breakeven.results.timing import Doubt

#: Processors' worth of other work from which on the machine is busy: a tenth of one is more than a desktop's idle noise.
_BUSY: Final = 0.25
#: Share of the machine's processors from which on there was no room for both.
_FULL: Final = 0.9
#: Shortest time that the counters, which move in hundredths of a second, say something about.
_SHORTEST_S: Final = 0.2


@dataclass(frozen=True)
class Moment:
    """Counters at one moment, seconds of processor time.

    Attributes:
        at: when.
        busy: of all processes.
        stolen: that the host of a virtual machine gave to others.
        own: of this process and of the children that it has waited for.
        cores: processors of the machine.
    """

    at: float
    busy: float
    stolen: float
    own: float
    cores: int


def now(root: Path = Path("/")) -> Moment | None:
    """Read the counters; None where there are none."""
    try:
        lines = (root / "proc/stat").read_text(encoding="ascii").splitlines()
        ticks = [int(number) for number in lines[0].split()[1:]]
    except (OSError, ValueError, IndexError):
        return None if sys.platform == "linux" else _elsewhere()
    per_s = os.sysconf("SC_CLK_TCK")
    cores = sum(line.startswith("cpu") for line in lines) - 1
    user, nice, system, _, _, irq, softirq, steal = (*ticks, *([0] * 8))[:8]
    return Moment(time.monotonic(), (user + nice + system + irq + softirq) / per_s, steal / per_s, _own(), max(cores, 1))


@dataclass(frozen=True)
class Load:
    """What went on between two moments, in processors kept busy on average.

    Attributes:
        seconds: how long was looked.
        cores: processors that others kept busy.
        stolen: that the host of a virtual machine gave to others.
        own: that what was measured kept busy; None: not known.
        processors: of the machine; None: not known.
    """

    seconds: float
    cores: float
    stolen: float = 0.0
    own: float | None = None
    processors: int | None = None

    @property
    def disturbed(self) -> bool:
        """Whether there was not room for both."""
        away = self.cores + self.stolen
        if self.seconds < _SHORTEST_S or away < _BUSY:
            return False
        return self.own is None or self.processors is None or self.own + away >= self.processors * _FULL


def load(before: Moment | None, after: Moment | None, beside_s: float = 0.0) -> Load | None:
    """What went on between two moments; None: there are no counters.

    Args:
        before: the first.
        after: the second.
        beside_s: processor time of what was measured that the own counters do not hold.
    """
    if before is None or after is None or after.at <= before.at:
        return None
    seconds = after.at - before.at
    own = (after.own - before.own + beside_s) / seconds
    others = max((after.busy - before.busy) / seconds - own, 0.0)
    return Load(seconds, others, (after.stolen - before.stolen) / seconds, own, after.cores)


def busy_machine(before: Moment | None, after: Moment | None) -> Doubt | None:
    """What others did between two moments, where it may have disturbed."""
    found = load(before, after)
    if found is None or not found.disturbed:
        return None
    what = f"other work took {found.cores:.1f} of the machine's {found.processors} processors"
    if found.stolen >= 0.05:
        what += f", and its host took {found.stolen:.1f} away"
    return Doubt("busy_machine", f"the machine was busy: {what}")


def _elsewhere() -> Moment | None:
    try:
        import psutil  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        return None
    times = psutil.cpu_times()
    busy = sum(times) - times.idle
    return Moment(time.monotonic(), float(busy), 0.0, _own(), os.cpu_count() or 1)


def _own() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
