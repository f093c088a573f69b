"""What this machine's CPU can do, measured in under a second: dispatch, a large product, a large copy.

Runs in a child process that imports torch (`python -m breakeven.measure.probe` prints JSON); the figures are of an idle moment
and say nothing about other load. Clocks that throttle later are not seen.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from breakeven.machine.cores import usable_cores
from breakeven.machine.records import Cpu

#: Rounds are short (well inside a scheduler's time slice) and many. Their median counts, as it does for a script's steps: the two
#: are compared, and a machine that is shared slows both.
_CALLS = 2
#: Operations of the probe's step that a dispatch mode sees (a test compares): from Python, and from the autograd engine.
PROBE_FORWARD = ("t", "addmm", "relu", "detach", "t", "addmm", "mse_loss", "add_", "add_", "add_", "add_")
PROBE_BACKWARD = (
    "ones_like", "mse_loss_backward", "t", "mm", "t", "mm", "t", "sum", "view", "detach", "t", "detach", "detach",
    "threshold_backward", "t", "mm", "t", "sum", "view", "detach", "t", "detach",
)  # fmt: skip
_ROUNDS = 100
_DISPATCH_S = 0.5
_PRODUCT = 1024
_COPY_BYTES = 64 << 20


def main() -> None:
    """Print the probe's `Cpu` record as JSON, and the name of the accelerator that is here (null: none)."""
    from breakeven.measure.present import accelerator

    found = accelerator()
    said = {**msgspec.to_builtins(probe()), "accelerator": found.name() if found is not None else None}
    sys.stdout.write(msgspec.json.encode(said).decode() + "\n")


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
    """Microseconds per operation of a tiny training step, which is dispatch and Python and hardly any arithmetic.

    A multilayer perceptron of 4 rows: forward, loss, backward, plain SGD. The host model's time for the very same step on its
    reference host is `dispatch_us` in `costs/data/host.json` (`tools/fit_host.py`), so both must change together.
    """
    import torch

    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    descent = torch.optim.SGD(net.parameters(), lr=0.01, foreach=False)
    rows, target = torch.ones(4, 8), torch.ones(4, 1)

    def step() -> None:
        descent.zero_grad()
        torch.autograd.backward(torch.nn.functional.mse_loss(net(rows), target))
        descent.step()

    return _usual_us(step, _CALLS) / (len(PROBE_FORWARD) + len(PROBE_BACKWARD))


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


def cpu_model() -> str:
    """The CPU's name as its system gives it."""
    table = Path("/proc/cpuinfo")
    if table.exists():
        for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith(("model name", "hardware", "cpu model")):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _usual_us(call: Callable[[], object], calls: int) -> float:
    rounds: list[float] = []
    ends = time.perf_counter() + _DISPATCH_S
    while len(rounds) < _ROUNDS or time.perf_counter() < ends:
        began = time.perf_counter()
        for _ in range(calls):
            call()
        rounds.append(time.perf_counter() - began)
    return statistics.median(rounds[len(rounds) // 4 :]) / calls * 1e6


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
