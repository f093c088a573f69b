"""How many cores this process may run on. A quota of its control group is not looked at: `measure/here` does that."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores in this process's affinity; where the system has none, all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
