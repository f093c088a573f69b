"""What this machine's CPU can do, measured in under a second: dispatch, a large product, a large copy.

Runs in a child process that imports torch (`python -m breakeven.measure.probe` prints JSON); the figures are of an idle moment
and say nothing about other load. Clocks that throttle later are not seen.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from breakeven.machine.records import Cpu

#: Rounds are short (about 0.1 ms, well inside a scheduler's time slice) and many, and the least counts: other load only ever adds.
_CALLS = 20
_ROUNDS = 150
_PRODUCT = 1024
_COPY_BYTES = 64 << 20


def main() -> None:
    """Print the probe's `Cpu` record as JSON."""
    sys.stdout.write(msgspec.json.encode(probe()).decode() + "\n")


def probe() -> Cpu:
    """Measure the CPU that this process runs on (imports torch)."""
    import torch

    return Cpu(
        model=cpu_model(),
        cores=usable_cores(),
        threads=torch.get_num_threads(),
        peak_gflops=product_gflops(),
        bandwidth_gb_s=copy_gb_s(),
        dispatch_us=dispatch_us(),
    )


def dispatch_us() -> float:
    """Microseconds of one small operation from Python with autograd on: half forward, half its backward's share.

    The operations are the host model's bridge to the traces (`tools/fit_host.py --bridge`), so both must change together.
    """
    import torch

    weight = torch.ones(8, requires_grad=True)
    value = torch.ones(8)

    def forward() -> object:
        return value.mul(value)

    def with_backward() -> object:
        return torch.autograd.backward((weight * value).sum())

    # Operations of the second: mul, sum, their three nodes' expand, mul and the accumulation: six rows of a stream.
    return (_least_us(forward, _CALLS) + _least_us(with_backward, _CALLS // 4)) / 7


def product_gflops() -> float:
    """GFLOP/s of a float32 product of 1024 x 1024 with torch's own threads."""
    import torch

    a = torch.ones(_PRODUCT, _PRODUCT)
    out = torch.empty(_PRODUCT, _PRODUCT)
    seconds = _least_seconds(lambda: torch.mm(a, a, out=out), budget=0.25)
    return 2 * _PRODUCT**3 / seconds / 1e9


def copy_gb_s() -> float:
    """GB/s of a copy of 64 MiB, read and written bytes together."""
    import torch

    source = torch.ones(_COPY_BYTES // 4)
    target = torch.empty_like(source)
    seconds = _least_seconds(lambda: target.copy_(source), budget=0.15)
    return 2 * _COPY_BYTES / seconds / 1e9


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The CPU's name as its system gives it."""
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware", "cpu model")):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _least_us(call: Callable[[], object], calls: int) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - began)
    return best / calls * 1e6


def _least_seconds(call: Callable[[], Any], budget: float) -> float:  # what it returns is not looked at
    """Shortest run of a call, repeated within a budget of seconds (at least twice: the first one warms up)."""
    call()
    best, spent = float("inf"), 0.0
    while spent < budget or best == float("inf"):
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
    return best


if __name__ == "__main__":
    main()
