"""What can be looked at while a loop is watched: threads, denormal numbers, double precision on a weak device, full memory."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import psutil  # type: ignore[import-untyped]  # it has no types of its own

from breakeven.errors import UnknownDevice
from breakeven.fallbacks import Fallback
from breakeven.machine.cores import usable_cores
from breakeven.machine.gpus import find_gpu
from breakeven.measure.backends.cpu import Cpu
from breakeven.results.records import Finding, Site

#: Elements of a tensor that are looked at, and passes over them that are timed.
_LOOKED: Final = 1 << 20
_PASSES: Final = 15
#: Times as fast without denormal numbers, from which on they matter.
_SLOWED: Final = 1.15
#: Double precision is weak where it has at most this part of single precision's rate (consumer boards: 1/32, 1/64).
_WEAK: Final = 1 / 16
#: Part of a memory that is left where it is nearly full.
_LEFT: Final = 0.05


def checks(device: str, name: str, optimizers: Sequence[Any], workers: int) -> tuple[Finding, ...]:  # torch's optimizers
    """All of them.

    Args:
        device: that the steps run on, as PyTorch calls it.
        name: as its driver calls it.
        optimizers: that have stepped.
        workers: processes that load data.
    """
    found = [threads(device, workers), denormals(optimizers), weak_double(device, name, optimizers), *memory(device)]
    return tuple(one for one in found if one is not None)


def threads(device: str, workers: int, cores: int | None = None) -> Finding | None:
    """More threads than processors that this process may use; loader workers count where the CPU is what trains."""
    import torch

    here, own = usable_cores() if cores is None else cores, torch.get_num_threads()
    busy = own + (workers if device == "cpu" else 0)
    if own <= here and (workers == 0 or busy <= here + 1):  # one worker beside full threads loads while they wait
        return None
    what = f"PyTorch uses {own} threads" + (f" and the loader {workers} processes" if busy > own else "")
    return Finding(
        "cpu_oversubscription", device, "overhead", None,
        f"{what} on {here} processors that this process may use: they take each other's turns.", (), ("threads",),
    )  # fmt: skip


def denormals(optimizers: Sequence[Any]) -> Finding | None:  # torch's optimizers
    """Denormal numbers among parameters, gradients and optimizer state on the CPU, where a pass over them is slower for it."""
    import torch

    count, total, worst = 0, 0, None
    with torch.no_grad():
        for tensor in _floats(optimizers):
            flat = tensor.reshape(-1)[:_LOOKED]
            small = int(((flat != 0) & (flat.abs() < torch.finfo(flat.dtype).tiny)).sum())
            count, total = count + small, total + flat.numel()
            if small and (worst is None or small > worst[0]):
                worst = small, flat
    if worst is None:
        return None
    slow = _slowed_by(worst[1])
    if slow < _SLOWED:
        return None
    return Finding(
        "denormals", "cpu", "compute", None,
        f"{count} of {total} parameters, gradients and states that were looked at are denormal numbers: a pass over the tensor "
        f"that holds most of them is {slow:.2g} times as fast when they are flushed.", (), ("flush_denormals",),
    )  # fmt: skip


def weak_double(device: str, name: str, optimizers: Sequence[Any]) -> Finding | None:  # torch's optimizers
    """Parameters in double precision on a device that has little of it, by the catalog's data sheets."""
    import torch

    if device == "cpu" or not any(p.dtype == torch.float64 for p in _parameters(optimizers)):
        return None
    try:
        gpu = find_gpu(name)
    except UnknownDevice:
        return None
    if not gpu.fp64_tflops or not gpu.fp32_tflops or gpu.fp64_tflops > _WEAK * gpu.fp32_tflops:
        return None
    return Finding(
        "fp64", device, "compute", None,
        f"Parameters are float64, which {gpu.name} computes at 1/{gpu.fp32_tflops / gpu.fp64_tflops:.0f} of its float32 rate.",
        (), ("float32",),
    )  # fmt: skip


def memory(device: str) -> Iterator[Finding | None]:
    """The host's memory, or the device's, nearly full."""
    host = psutil.virtual_memory()
    yield _full("cpu", "this machine", host.available, host.total)
    if device.startswith("cuda"):
        import torch

        free, total = torch.cuda.mem_get_info(device)
        ours = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # PyTorch's own reserve
        yield _full(device, device, free + ours, total)


def fallen_back(fallback: Fallback) -> Finding:
    """An operation that a Mac's GPU handed to the CPU."""
    file, line = fallback.file, fallback.line
    sites = (Site(file, line, linecache.getline(file, line).strip()),) if file is not None and line is not None else ()
    return Finding("cpu_fallback", "mps", "copy", None, fallback.sentence, sites, ("use_cpu",))


def _full(device: str, where: str, left: int, total: int) -> Finding | None:
    if left >= _LEFT * total:
        return None
    said = f"The memory of {where} is nearly full: {left / 1e9:.2g} of {total / 1e9:.3g} GB are left."
    return Finding("memory", device, "memory", None, said)


def _slowed_by(tensor: Any) -> float:  # a flat CPU tensor
    """Time of a pass over it as it is, against the same with denormal numbers flushed, in turns.

    On one thread: of several only the one that asks for it would flush.
    """
    import torch

    copy, clock = tensor.clone(), Cpu().clock_ns
    flushed_before = bool(torch.tensor([1e-310], dtype=torch.float64).mul(1.0).item() == 0.0)
    times: tuple[list[int], list[int]] = ([], [])
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for _ in range(_PASSES):
            for flush in (False, True):
                torch.set_flush_denormal(flush)
                began = clock()
                torch.mul(copy, 0.75)
                times[flush].append(clock() - began)
    finally:
        torch.set_flush_denormal(flushed_before)
        torch.set_num_threads(threads)
    return min(times[False]) / max(min(times[True]), 1)


def _parameters(optimizers: Sequence[Any]) -> Iterator[Any]:  # tensors
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            yield from group["params"]


def _floats(optimizers: Sequence[Any]) -> Iterator[Any]:  # tensors of the CPU that hold floats
    for optimizer in optimizers:
        states: Iterable[Any] = (value for state in optimizer.state.values() for value in state.values())
        for tensor in (*_parameters([optimizer]), *(p.grad for p in _parameters([optimizer])), *states):
            if hasattr(tensor, "is_floating_point") and tensor.device.type == "cpu" and tensor.dtype.is_floating_point:
                yield tensor.detach()
