"""Measures on this machine what ties the dispatch probe to the traces: small operations with and without the profiler."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

_ROUNDS, _CALLS = 60, 10


def measure_bridge() -> dict[str, Any]:
    """Profiler's cost per event, small operations' time inside their event per class, and the dispatch probe itself."""
    import torch

    from breakeven.measure.probe import dispatch_us

    torch.set_num_threads(1)
    excess, probes, starts, steps, kernels = [], [], [], [], []
    for _ in range(3):
        probes.append(dispatch_us())
        starts.append(_backward_call_us(torch))
        steps.append(_optimizer_call_us(torch))
        kernels.append(_kernels_us(torch))
        for call in _jobs(torch):
            wall, events = _profiled_us(torch, call)
            excess.append((wall - _loop_us(call)) / events)
    return {
        "what": "least over short rounds on a CPU, one thread: small operations, profiled and not; chains; the probe",
        "torch": torch.__version__,
        "profiler_event_us": round(statistics.median(excess), 3),
        "backward_call_us": round(min(starts), 2),
        "optimizer_call_us": round(min(steps), 2),
        "kernels_us": round(min(kernels), 2),
        "dispatch_us": round(min(probes), 4),
    }


def _backward_call_us(torch: Any) -> float:  # the module itself, imported by the caller
    """What a backward pass costs beside its nodes: the intercept of chains of 1 and of 33 nodes."""
    times = {}
    for nodes in (1, 33):
        weight = torch.ones(4, requires_grad=True)

        def call(nodes: int = nodes, weight: Any = weight) -> object:  # a tensor
            value = weight
            for _ in range(nodes):
                value = value.neg()
            torch.autograd.backward(value, torch.ones(4))
            return value

        def forward(nodes: int = nodes, weight: Any = weight) -> object:  # a tensor
            value = weight
            for _ in range(nodes):
                value = value.neg()
            return value, torch.ones(4)

        times[nodes] = _loop_us(call) - _loop_us(forward)
    return times[1] - (times[33] - times[1]) / 32


def _tiny(torch: Any) -> tuple[Any, Any, Any, Any]:  # the module itself, and its objects
    """The probe's network, optimizer, rows and target."""
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    return net, torch.optim.SGD(net.parameters(), lr=0.01, foreach=False), torch.ones(4, 8), torch.ones(4, 1)


def _optimizer_call_us(torch: Any) -> float:  # as above
    """`step` and `zero_grad` of the probe's optimizer without its four additions."""
    net, descent, rows, target = _tiny(torch)
    torch.autograd.backward(torch.nn.functional.mse_loss(net(rows), target))
    pairs = [(p.detach(), p.grad) for p in net.parameters()]
    empty = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])

    def additions() -> None:
        for value, grad in pairs:
            value.add_(grad, alpha=-0.01)

    return _loop_us(descent.step) - _loop_us(additions) + _loop_us(empty.zero_grad)


def _kernels_us(torch: Any) -> float:  # as above
    """Time of the probe's step inside operations below autograd, beyond what a view takes there (what a recording sees)."""
    from torch.utils._python_dispatch import TorchDispatchMode

    net, descent, rows, target = _tiny(torch)
    seen: list[tuple[bool, float]] = []

    class Timing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # torch's protocol
            began = time.perf_counter()
            out = func(*args, **(kwargs or {}))
            if func.namespace == "aten":
                seen.append((func.is_view, (time.perf_counter() - began) * 1e6))
            return out

    best = float("inf")
    for _ in range(_ROUNDS):
        seen.clear()
        with Timing():
            descent.zero_grad()
            torch.autograd.backward(torch.nn.functional.mse_loss(net(rows), target))
            descent.step()
        floor = statistics.median(length for view, length in seen if view)
        best = min(best, sum(max(0.0, length - floor) for view, length in seen if not view))
    return best


def _jobs(torch: Any) -> tuple[Callable[[], object], ...]:  # the module itself, imported by the caller
    a, b = torch.randn(8, 8), torch.randn(8, 8)
    return (lambda: a.view(64), lambda: a.t(), lambda: torch.zeros(8), lambda: a.mul(b), lambda: a.mm(b), lambda: a.clone())


def _loop_us(call: Callable[[], object]) -> float:
    """Least time per call over many short rounds: other load only ever adds."""
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for _ in range(_CALLS):
            call()
        best = min(best, time.perf_counter() - began)
    return best / _CALLS * 1e6


def _profiled_us(torch: Any, call: Callable[[], object]) -> tuple[float, float]:  # the module itself
    """Wall time per call under the profiler, and events per call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recording:
        wall = _loop_us(call)
    return wall, len(recording.events()) / (_ROUNDS * _CALLS)
