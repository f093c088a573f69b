"""What `torch.cuda`, `torch.accelerator` and their kin answer in the CPU pass: a device is there, and nothing needs doing.

The same questions get the same answers in the virtual pass, so that both passes take the same branches. Child process only.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import torch

#: The device that is said to be there: a Tesla T4 (data sheet: 16 GB, 40 multiprocessors, compute capability 7.5).
NAME: Final = "Tesla T4"
CAPABILITY: Final = (7, 5)
MEMORY: Final = 16 * 1024**3
PROPERTIES: Final = SimpleNamespace(
    name=NAME, major=7, minor=5, total_memory=MEMORY, multi_processor_count=40, is_integrated=0, is_multi_gpu_board=0,
    warp_size=32, max_threads_per_multi_processor=1024, regs_per_multiprocessor=65536, L2_cache_size=4 * 1024**2,
    shared_memory_per_block=49152, gcnArchName="", uuid="GPU-00000000-0000-0000-0000-000000000000",
)  # fmt: skip

_NOTHING: Final = """
    synchronize empty_cache init ipc_collect set_device set_stream set_sync_debug_mode manual_seed manual_seed_all seed
    seed_all reset_peak_memory_stats reset_max_memory_allocated reset_max_memory_cached reset_accumulated_memory_stats
    reset_accumulated_host_memory_stats reset_peak_host_memory_stats set_per_process_memory_fraction set_rng_state
    set_rng_state_all caching_allocator_delete caching_allocator_enable check_error set_device_idx set_device_index
    empty_host_cache change_current_allocator
"""
_ZERO: Final = """
    current_device current_device_idx current_device_index memory_allocated memory_reserved memory_cached max_memory_allocated
    max_memory_reserved max_memory_cached utilization memory_usage temperature power_draw clock_rate device_memory_used
    get_sync_debug_mode caching_allocator_alloc current_blas_handle current_solver_handle initial_seed
"""


def install() -> None:
    """Answer from now on."""
    answers: dict[str, Any] = {  # functions of any signature
        "is_available": _always(True), "is_initialized": _always(True), "device_count": _always(1),
        "is_bf16_supported": _always(True), "is_tf32_supported": _always(False), "is_current_stream_capturing": _always(False),
        "can_device_access_peer": _always(False), "get_device_name": _always(NAME), "get_device_capability": _always(CAPABILITY),
        "get_device_properties": _always(PROPERTIES), "mem_get_info": _always((MEMORY, MEMORY)),
        "get_memory_info": _always((MEMORY, MEMORY)), "memory_stats": _fresh(dict), "memory_stats_as_nested_dict": _fresh(dict),
        "host_memory_stats": _fresh(dict), "host_memory_stats_as_nested_dict": _fresh(dict), "memory_snapshot": _fresh(list),
        "memory_summary": _always(""), "list_gpu_processes": _always(""), "get_arch_list": _fresh(list),
        "get_gencode_flags": _always(""), "get_per_process_memory_fraction": _always(1.0),
        "get_allocator_backend": _always("native"),
        "current_stream": _always(Stream()), "default_stream": _always(Stream()),
        "get_stream_from_external": _fresh(lambda: Stream()),
        "stream": _fresh(contextlib.nullcontext), "get_rng_state": _fresh(torch.get_rng_state),
        "get_rng_state_all": _fresh(lambda: [torch.get_rng_state()]), "current_accelerator": _always(torch.device("cuda")),
        "graph_pool_handle": _always((0, 0)), "make_graphed_callables": lambda callables, *args, **kwargs: callables,
        "cudart": _fresh(lambda: SimpleNamespace(cudaProfilerStart=_always(0), cudaProfilerStop=_always(0))),
        "use_mem_pool": _fresh(contextlib.nullcontext), "caching_allocator_disabled": _fresh(contextlib.nullcontext),
    }  # fmt: skip
    answers.update({name: _always(None) for name in _NOTHING.split()} | {name: _always(0) for name in _ZERO.split()})
    for owner in (torch.cuda, torch.cuda.memory, torch.cuda.random, torch.accelerator, torch.accelerator.memory):
        for name, answer in answers.items():
            if hasattr(owner, name):  # a function of its own for each: torch.compile keeps a table by them
                setattr(owner, name, _own(answer))
    cuda: Any = torch.cuda  # its classes are replaced, which no annotation foresees
    cuda.Stream = cuda.ExternalStream = Stream
    cuda.Event = Event
    cuda.StreamContext = cuda.device = cuda.device_of = _Context
    cuda.CUDAGraph = _Graph
    cuda.graph = _not_captured
    for kind in ("Float", "Double", "Half", "Long", "Int", "Short", "Char", "Byte", "Bool", "BFloat16"):
        setattr(cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(torch.cuda.nvtx, name, _always(0))
    torch.cuda.nvtx.range = _Context  # type: ignore[assignment]  # its stand-in


def _own(answer: Any) -> Any:  # a function of any signature
    return lambda *args, **kwargs: answer(*args, **kwargs)


def _always(value: Any) -> Any:  # a function of any signature
    return lambda *args, **kwargs: value


def _fresh(make: Any) -> Any:  # a function of any signature
    return lambda *args, **kwargs: make()


class _Context(contextlib.nullcontext[None]):
    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def __call__(self, function: Any) -> Any:  # as a decorator: the function itself
        return function


class Stream:
    """A stream on which everything has been done already."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.device, self.cuda_stream, self.stream_id = torch.device("cuda", 0), 0, 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *args: object) -> None:
        return None

    def query(self) -> bool:
        """Done."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def is_capturing(self) -> bool:
        """No graph is being captured."""
        return False

    wait_event = wait_stream = lambda self, other: None

    def record_event(self, event: Event | None = None) -> Event:
        """An event that has happened now."""
        event = event or Event()
        event.record()
        return event


class Event:
    """An event on the CPU's clock."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.at = 0.0

    def record(self, stream: object = None) -> None:
        """It happens now."""
        self.at = time.perf_counter()

    def query(self) -> bool:
        """It has happened."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    wait = record_stream = lambda self, stream=None: None

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`."""
        return (end.at - self.at) * 1e3


class _Graph:
    def __init__(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("CUDA graphs cannot be captured while the script is timed on the CPU")


@contextlib.contextmanager
def _not_captured(*args: object, **kwargs: object) -> Iterator[None]:
    yield
