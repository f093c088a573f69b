"""Every public name of `torch.cuda` and `torch.accelerator`: answered here, left as it is, or on the list of the unsupported."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, Final

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.cuda_objects import (
    make_event,
    make_generator,
    make_graphs,
    make_legacy_types,
    make_stream,
    properties,
)
from breakeven.capture.virtual.devices import CUDA_DEVICE, check_index, names_cuda
from breakeven.capture.virtual.marks import CUDA
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder
from breakeven.machine.records import Gpu

#: Names that need the driver, NVML or raw pointers: they warn once and answer None.
UNSUPPORTED: Final = frozenset(
    [
        "CUDAPluggableAllocator",
        "ExternalStream",
        "GreenContext",
        "MemPool",
        "caching_allocator_alloc",
        "caching_allocator_delete",
        "caching_allocator_enable",
        "change_current_allocator",
        "clock_rate",
        "cudart",
        "current_blas_handle",
        "current_solver_handle",
        "device_memory_used",
        "get_stream_from_external",
        "jiterator",
        "memory_usage",
        "power_draw",
        "temperature",
        "use_mem_pool",
        "utilization",
    ]
)

#: Names that need no stand-in: modules, imports, exceptions, constants, and functions that work without a device.
AS_IS: Final = frozenset(
    [
        "AcceleratorError",
        "Any",
        "BFloat16Storage",
        "BoolStorage",
        "ByteStorage",
        "Callable",
        "CharStorage",
        "ComplexDoubleStorage",
        "ComplexFloatStorage",
        "CudaError",
        "DEVICE_REQUIREMENT",
        "DeferredCudaCallError",
        "Device",
        "DoubleStorage",
        "FloatStorage",
        "HalfStorage",
        "IntStorage",
        "LongStorage",
        "NewType",
        "Optional",
        "OutOfMemoryError",
        "PYTORCH_RELEASES_CODE_CC",
        "ShortStorage",
        "TYPE_CHECKING",
        "amp",
        "cast",
        "check_error",
        "classproperty",
        "cudaStatus",
        "gds",
        "graphs",
        "green_contexts",
        "has_half",
        "has_magma",
        "importlib",
        "lru_cache",
        "memory",
        "nccl",
        "nvtx",
        "os",
        "platform",
        "profiler",
        "random",
        "sparse",
        "streams",
        "threading",
        "torch",
        "traceback",
        "tunable",
        "warnings",
        "device",
        "device_of",
        "get_gencode_flags",
        "Callable",
    ]
)

_VERSION: Final = "12.6"  # a CUDA version that torch 2.13 is built for: scripts test whether there is one
_CUDNN: Final = 91002  # cuDNN 9.10.2, as torch's CUDA builds bring it: likewise

Answers = dict[str, Any]  # Any: functions and classes


class Surface:
    """Patches `torch.cuda` for one session."""

    def __init__(self, recorder: Recorder, gpu: Gpu) -> None:
        self._recorder = recorder
        self._gpu = gpu
        self._properties = properties(gpu)
        self._peak = 0
        self.event_class = make_event(recorder)
        self.stream_class = make_stream(recorder, self.event_class)
        self._stream = self.stream_class()

    def install(self, patches: Patches) -> None:
        """Patch the modules."""
        answers = self.answers()
        for name, answer in answers.items():
            patches.set(torch.cuda, name, answer)
            for module in (torch.cuda.memory, torch.cuda.random, torch.cuda.streams, torch.cuda.graphs):
                if name in vars(module):
                    patches.set(module, name, answer)
        for name in UNSUPPORTED:
            if hasattr(torch.cuda, name):
                patches.set(torch.cuda, name, self._unsupported(f"torch.cuda.{name}"))
        self._private(patches)
        self._accelerator(patches)
        patches.set(torch, "Generator", make_generator(self._recorder))
        patches.set(torch, "Event", self._device_or_real(torch.Event, self.event_class))
        patches.set(torch, "Stream", self._device_or_real(torch.Stream, self.stream_class))
        patches.set(torch.version, "cuda", _VERSION)
        patches.set(torch.backends.cuda, "is_built", lambda: True)
        cudnn: Any = torch.backends.cudnn  # Any: a module that hides behind an object
        patches.set(cudnn.m, "is_available", lambda: True)
        patches.set(cudnn.m, "version", lambda: _CUDNN)
        for name in ("_cuda_get_cudnn_benchmark_limit", "_cuda_set_cudnn_benchmark_limit"):
            if not hasattr(torch._C, name):
                patches.set(torch._C, name, lambda *_: 10)  # torch's default limit
        for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
            patches.set(torch.cuda.nvtx, name, lambda *_, **__: 0)
        for name in ("start", "stop"):
            patches.set(torch.cuda.profiler, name, lambda *_: None)

    def answers(self) -> Answers:
        """Stand-ins by name."""
        recorder, shown = self._recorder, self._properties

        def is_available() -> bool:
            if recorder.sites.is_users(sys._getframe(1).f_code):
                recorder.notes.here(facts.IS_AVAILABLE, "torch.cuda.is_available() was asked, and answered with True")
            return True

        def nothing(*_: Any, **__: Any) -> None:  # Any: ignored
            return None

        def one(device: Any = None, answer: Any = None) -> Any:  # Any: a device; whatever is answered
            names_cuda(device)
            return answer

        capability = (shown.major, shown.minor)
        graph_class, graph = make_graphs(recorder)
        found: Answers = {
            "is_available": is_available, "is_initialized": lambda: True, "init": nothing, "device_count": lambda: 1,
            "current_device": lambda: 0, "set_device": one,
            "synchronize": lambda device=None: recorder.synchronized("synchronize"),
            "get_device_name": lambda device=None: one(device, shown.name),
            "get_device_properties": lambda device=None: one(device, shown),
            "get_device_capability": lambda device=None: one(device, capability),
            "can_device_access_peer": lambda *_: False, "ipc_collect": nothing,
            "get_arch_list": lambda: [f"sm_{shown.major}{shown.minor}"],
            "is_bf16_supported": lambda including_emulation=True: including_emulation or capability >= (8, 0),
            "is_tf32_supported": lambda: capability >= (8, 0),
            "set_sync_debug_mode": nothing, "get_sync_debug_mode": lambda: 0,
            "CUDAGraph": graph_class, "graph": graph, "graph_pool_handle": lambda: (0, 0),
            "is_current_stream_capturing": lambda: recorder.tape is not None, "make_graphed_callables": self._graphed,
            "default_generators": (torch.default_generator,),
            "list_gpu_processes": lambda device=None: "GPU:0\nno processes are running",
        }  # fmt: skip
        return (
            found
            | self._streams()
            | self._memory(nothing)
            | self._random(nothing)
            | make_legacy_types(self._mark, recorder.is_cuda)
        )

    def _mark(self, made: torch.Tensor) -> torch.Tensor:
        self._recorder.marks.add(made, CUDA)
        return made

    def _streams(self) -> Answers:
        def current(device: Any = None) -> Any:  # Any: a device; a stream of ours
            return self._stream

        def set_stream(stream: Any) -> None:  # Any: a stream of ours
            if stream is not None:
                self._stream = stream

        @contextlib.contextmanager
        def stream(stream: Any) -> Iterator[None]:  # Any: a stream of ours
            before = self._stream
            set_stream(stream)
            try:
                yield
            finally:
                self._stream = before

        default = self._stream
        return {
            "Stream": self.stream_class, "Event": self.event_class, "current_stream": current,
            "default_stream": lambda device=None: default, "set_stream": set_stream, "stream": stream, "StreamContext": stream,
        }  # fmt: skip

    def _memory(self, nothing: Callable[..., None]) -> Answers:
        recorder, total = self._recorder, self._properties.total_memory

        def now(device: Any = None) -> int:  # Any: a device
            held = recorder.marks.live_bytes()
            self._peak = max(self._peak, held)
            return held

        def peak(device: Any = None) -> int:  # Any: a device
            now()
            return self._peak

        def reset_peak(device: Any = None) -> None:  # Any: a device
            self._peak = 0

        def stats(device: Any = None) -> dict[str, int]:  # Any: a device
            held = now()
            return {
                f"{kind}_bytes.all.{when}": value
                for kind in ("allocated", "reserved", "active")
                for when, value in (("current", held), ("peak", self._peak), ("allocated", held), ("freed", 0))
            }

        def empty_cache() -> None:
            recorder.emptied_cache()

        @contextlib.contextmanager
        def caching_disabled() -> Iterator[None]:
            yield

        return {
            "memory_allocated": now, "max_memory_allocated": peak, "memory_reserved": now, "max_memory_reserved": peak,
            "memory_cached": now, "max_memory_cached": peak, "reset_peak_memory_stats": reset_peak,
            "reset_max_memory_allocated": reset_peak, "reset_max_memory_cached": reset_peak,
            "reset_accumulated_memory_stats": nothing, "memory_stats": stats,
            "memory_stats_as_nested_dict": lambda device=None: {},
            "host_memory_stats": dict, "host_memory_stats_as_nested_dict": dict,
            "reset_accumulated_host_memory_stats": nothing, "reset_peak_host_memory_stats": nothing,
            "memory_summary": lambda device=None, abbreviated=False: f"{now()} bytes are held by tensors on cuda:0",
            "memory_snapshot": lambda *_, **__: [], "mem_get_info": lambda device=None: (max(total - now(), 0), total),
            "empty_cache": empty_cache, "set_per_process_memory_fraction": nothing,
            "get_per_process_memory_fraction": lambda device=None: 1.0, "get_allocator_backend": lambda: "native",
            "caching_allocator_disabled": caching_disabled,
        }  # fmt: skip

    def _random(self, nothing: Callable[..., None]) -> Answers:
        # Draws on cuda take the CPU generator's numbers, in the plain script's order; there, seeding the GPU's changes nothing.
        return {
            "manual_seed": lambda seed: int(seed) and None, "manual_seed_all": lambda seed: int(seed) and None, "seed": nothing,
            "seed_all": nothing, "initial_seed": torch.initial_seed, "get_rng_state": lambda device="cuda": torch.get_rng_state(),
            "get_rng_state_all": lambda: [torch.get_rng_state()], "set_rng_state": lambda state, device="cuda": None,
            "set_rng_state_all": nothing,
        }  # fmt: skip

    def _private(self, patches: Patches) -> None:
        patches.set(torch.cuda, "_lazy_init", lambda: None)
        patches.set(torch.cuda, "_lazy_call", lambda call, **_: call())
        patches.set(torch.cuda, "_is_compiled", lambda: True)
        patches.set(torch.cuda, "_exchange_device", _only)
        patches.set(torch.cuda, "_maybe_exchange_device", _only)
        patches.set(torch.cuda, "_sleep", lambda cycles: None)

    def _accelerator(self, patches: Patches) -> None:
        cuda = torch.cuda
        answers: Answers = {
            "is_available": cuda.is_available, "device_count": lambda: 1,
            "current_accelerator": lambda check_available=False: torch.device("cuda"),
            "current_device_index": lambda: 0, "current_device_idx": lambda: 0,
            "set_device_index": names_cuda, "set_device_idx": names_cuda, "current_stream": cuda.current_stream,
            "set_stream": cuda.set_stream, "synchronize": cuda.synchronize, "empty_cache": cuda.empty_cache,
            "empty_host_cache": lambda: None, "memory_stats": cuda.memory_stats, "memory_allocated": cuda.memory_allocated,
            "max_memory_allocated": cuda.max_memory_allocated, "memory_reserved": cuda.memory_reserved,
            "max_memory_reserved": cuda.max_memory_reserved, "reset_accumulated_memory_stats": lambda device=None: None,
            "reset_peak_memory_stats": cuda.reset_peak_memory_stats, "get_memory_info": cuda.mem_get_info,
            "get_device_capability": lambda device=None: {"supported_dtypes": set()},
        }  # fmt: skip
        for name, answer in answers.items():
            if hasattr(torch.accelerator, name):
                patches.set(torch.accelerator, name, answer)
        patches.set(torch._C, "_accelerator_getAccelerator", lambda: torch.device("cuda"))

    def _graphed(self, callables: Any, *_: Any, **__: Any) -> Any:  # Any: callables as given
        self._recorder.notes.warn("CUDA graphs are recorded operation by operation, as if they were not captured.")
        return callables

    def _unsupported(self, name: str) -> Callable[..., None]:
        def stand_in(*_: Any, **__: Any) -> None:  # Any: ignored
            self._recorder.notes.warn(f"{name} is not answered by the virtual GPU; it gave None.")
            self._recorder.notes.here(facts.UNSUPPORTED, f"{name} is not answered by the virtual GPU", op=name)

        return stand_in

    @staticmethod
    def _device_or_real(real: Any, ours: Any) -> Any:  # Any: classes of torch's and of ours
        class _Meta(type):
            def __instancecheck__(cls, instance: Any) -> bool:  # Any: anything
                return isinstance(instance, (real, ours))

            def __call__(cls, device: Any = None, *args: Any, **kwargs: Any) -> Any:  # Any: the real one's arguments
                if device is None or names_cuda(device):
                    return ours(*args, **kwargs)
                return real(device, *args, **kwargs)

        return _Meta(real.__name__, (), {"__module__": "torch"})


def _only(index: int) -> int:
    check_index(index)
    return 0


def public_names(module: ModuleType) -> list[str]:
    """Names of a module without a leading underscore; other packages that it imports (NVML's bindings) are none of its own."""
    names = [name for name in dir(module) if not name.startswith("_")]
    return [name for name in names if not _is_foreign(getattr(module, name, None), module)]


def _is_foreign(value: object, module: ModuleType) -> bool:
    package = module.__name__.partition(".")[0]
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] != package


__all__ = ["AS_IS", "CUDA_DEVICE", "UNSUPPORTED", "Surface", "public_names"]
