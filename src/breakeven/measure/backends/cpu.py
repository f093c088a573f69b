"""The CPU: what it is asked is done when the call returns. Energy by RAPL, throttling by the kernel's counters (Linux)."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cpu:
    """The processor that this process runs on.

    Attributes:
        root: where `/sys` and `/proc` lie.
    """

    root: Path = Path("/")
    device: str = "cpu"
    asynchronous: bool = False

    def is_present(self) -> bool:
        """Always."""
        return True

    def name(self) -> str:
        """The processor's name, where the system says it."""
        table = self.root / "proc/cpuinfo"
        if table.exists():
            for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
                if line.lower().startswith(("model name", "hardware", "cpu model")):
                    return line.split(":", 1)[1].strip()
        return platform.processor() or platform.machine()

    def synchronise(self) -> None:
        """Nothing to wait for."""

    def clock_ns(self) -> int:
        """Python's finest clock."""
        return time.perf_counter_ns()

    def energy_j(self) -> float | None:
        """Energy of all packages, which others on this machine use too; many systems let only root read it."""
        used = [self._number(zone / "energy_uj") for zone in sorted(self.root.glob("sys/class/powercap/intel-rapl:*"))
                if zone.name.count(":") == 1]  # fmt: skip
        known = [one for one in used if one is not None]
        return sum(known) / 1e6 if known and len(known) == len(used) else None

    def slowed(self) -> str | None:
        """Whether a core has been slowed for its heat since the machine started: the count, so that two readings can differ."""
        counts = [
            self._number(core / "thermal_throttle/core_throttle_count")
            for core in self.root.glob("sys/devices/system/cpu/cpu[0-9]*")
        ]
        total = sum(count for count in counts if count is not None)
        return f"thermal {total}" if total else None

    def _number(self, file: Path) -> int | None:
        try:
            return int(file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return None
