"""The probe of this machine's CPU."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from breakeven.machine.cores import usable_cores
from breakeven.machine.records import Cpu
from breakeven.measure.probe import PROBE_BACKWARD, PROBE_FORWARD, cpu_model


def test_the_probes_step_runs_the_operations_that_the_host_model_counts() -> None:
    """The list, as a dispatch mode sees it."""
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[list[str]] = [[], []]
    phase = 0

    class Counting(TorchDispatchMode):  # type: ignore[misc]  # torch may be absent where types are checked
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]  # torch's protocol
            if func.namespace == "aten":
                seen[phase].append(func.__name__.split(".")[0])
            return func(*args, **(kwargs or {}))

    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    descent = torch.optim.SGD(net.parameters(), lr=0.01, foreach=False)
    rows, target = torch.ones(4, 8), torch.ones(4, 1)
    with Counting():
        loss = torch.nn.functional.mse_loss(net(rows), target)
        phase = 1
        torch.autograd.backward(loss)
        phase = 0
        descent.step()
    assert sorted(seen[0]) == sorted(PROBE_FORWARD)
    assert sorted(seen[1]) == sorted(PROBE_BACKWARD)


def test_the_probe_in_a_child_gives_positive_rates() -> None:
    pytest.importorskip("torch")
    run = subprocess.run([sys.executable, "-m", "breakeven.measure.probe"], capture_output=True, check=True)
    found = msgspec.json.decode(run.stdout, type=Cpu)
    assert (found.model, found.cores) == (cpu_model(), usable_cores())
    assert found.peak_gflops is not None
    assert found.peak_gflops > 0.1
    assert found.bandwidth_gb_s is not None
    assert found.bandwidth_gb_s > 0.1
    assert found.dispatch_us is not None
    assert 0.1 < found.dispatch_us < 10_000
