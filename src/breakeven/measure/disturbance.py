"""Who else uses the machine while it is measured: the kernel's counters before and after (Linux; elsewhere nothing is said)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from breakeven.results.timing import Doubt

#: Processors' worth of other work from which on the machine is busy: a tenth of one is more than a desktop's idle noise.
_BUSY: Final = 0.25


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
        return None
    per_s = os.sysconf("SC_CLK_TCK")
    cores = sum(line.startswith("cpu") for line in lines) - 1
    user, nice, system, _, _, irq, softirq, steal = (*ticks, *([0] * 8))[:8]
    return Moment(time.monotonic(), (user + nice + system + irq + softirq) / per_s, steal / per_s, _own(), max(cores, 1))


def busy_machine(before: Moment | None, after: Moment | None) -> Doubt | None:
    """What others did between two moments, where it may have disturbed."""
    if before is None or after is None or after.at - before.at < 0.2:
        return None
    seconds = after.at - before.at
    own = (after.own - before.own) / seconds
    others = max((after.busy - before.busy) / seconds - own, 0.0)
    stolen = (after.stolen - before.stolen) / seconds
    if others + stolen < _BUSY or own + others + stolen < after.cores * 0.9:
        return None  # there was room for both
    what = f"other work took {others:.1f} of the machine's {after.cores} processors"
    if stolen >= 0.05:
        what += f", and its host took {stolen:.1f} away"
    return Doubt("busy_machine", f"the machine was busy: {what}")


def _own() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
