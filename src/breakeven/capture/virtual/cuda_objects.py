"""Stand-ins for what `torch.cuda` hands out: events, streams, device properties, generators, legacy tensor types, graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter_ns
from types import TracebackType
from typing import Any

import torch

from breakeven.capture.virtual import facts
from breakeven.capture.virtual.devices import CUDA_DEVICE, names_cuda
from breakeven.capture.virtual.recorder import Recorder
from breakeven.machine.records import Gpu

#: Answered where the session was given no GPU: NVIDIA T4 data sheet (2019); CUDA's deviceQuery for the clock and the SMs.
T4 = Gpu(
    name="Tesla T4", vendor="NVIDIA", architecture="Turing", released="2018-09-13", compute_capability="7.5", sm_count=40,
    boost_clock_mhz=1590.0, fp32_tflops=8.1, fp64_tflops=None, tensor_fp16_tflops=65.0, tensor_tf32_tflops=None,
    tensor_bf16_tflops=None, memory_gb=16.0, memory_bandwidth_gb_s=320.0, l2_mb=4.0, pcie_gen=3, pcie_lanes=16, tdp_w=70.0,
    source="NVIDIA T4 data sheet",
)  # fmt: skip


@dataclass(frozen=True)
class Properties:
    """What `get_device_properties` answers."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    L2_cache_size: int
    is_integrated: int = 0
    is_multi_gpu_board: int = 0
    warp_size: int = 32  # threads of a warp on every CUDA device so far (CUDA programming guide)
    max_threads_per_multi_processor: int = 1024
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    gcnArchName: str = ""  # noqa: N815  # the name that torch gives it
    uuid: str = "00000000-0000-0000-0000-000000000000"


def properties(gpu: Gpu) -> Properties:
    """A catalog entry in CUDA's words."""
    major, _, minor = (gpu.compute_capability or "7.5").partition(".")
    return Properties(
        name=gpu.name, major=int(major), minor=int(minor or 0), total_memory=int((gpu.memory_gb or 0) * 2**30),
        multi_processor_count=gpu.sm_count or 0, L2_cache_size=int((gpu.l2_mb or 0) * 2**20),
    )  # fmt: skip


def make_event(recorder: Recorder) -> type:
    """The class `Event` of a session."""

    class Event:
        """An event: its time is the host's clock of this recording, its place the last row before it."""

        def __init__(
            self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: Any
        ) -> None:  # Any: ignored
            self.enable_timing = enable_timing
            self._at: int | None = None
            self._row = -1
            self._pending_at = 0
            self.device = CUDA_DEVICE

        def record(self, stream: Any = None) -> None:  # Any: a stream of ours
            self._at, self._row = perf_counter_ns(), recorder.last_row
            self._pending_at = recorder.device_ops

        def wait(self, stream: Any = None) -> None:  # Any: a stream of ours
            return None

        def query(self) -> bool:
            return True

        def synchronize(self) -> None:
            pending = recorder.pending
            recorder.synchronized("event", self._row)
            # What was issued after the event is still under way.
            recorder.pending = min(pending, recorder.device_ops - self._pending_at)

        def elapsed_time(self, end: Event) -> float:
            if self._at is None or end._at is None:
                raise RuntimeError("Both events must be recorded before calculating elapsed time.")
            if not (self.enable_timing and end.enable_timing):
                raise RuntimeError(
                    "Both events must be created with argument 'enable_timing=True' for elapsed time to be calculated."
                )
            return (end._at - self._at) / 1e6

        def ipc_handle(self) -> bytes:
            return bytes(64)

        @property
        def cuda_event(self) -> int:
            return id(self)

    return Event


def make_stream(recorder: Recorder, event_class: type) -> type:
    """The class `Stream` of a session, whose events are of that class."""

    class Stream:
        """A stream: everything is recorded in one order, so streams are only named."""

        def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:  # Any: a device; ignored
            self.device = CUDA_DEVICE
            self.device_index, self.device_type, self.priority = 0, 1, priority
            self.stream_id = id(self) & 0xFFFF
            self.cuda_stream = 0

        def synchronize(self) -> None:
            recorder.synchronized("stream")

        def query(self) -> bool:
            return True

        def is_capturing(self) -> bool:
            return recorder.tape is not None

        def wait_stream(self, stream: Any) -> None:  # Any: a stream of ours
            return None

        def wait_event(self, event: Any) -> None:  # Any: an event of ours
            return None

        def record_event(self, event: Any = None) -> Any:  # Any: an event of ours
            event = event or event_class()
            event.record(self)
            return event

        def __enter__(self) -> Stream:
            return self

        def __exit__(self, *_: Any) -> None:  # Any: an exception's parts
            return None

    return Stream


def make_generator(recorder: Recorder) -> type:
    """A `torch.Generator` that also takes a cuda device: it is a CPU generator that says where it was asked for."""
    real: Any = torch.Generator  # Any: subclassed below, which torch's annotations do not foresee

    class _Meta(type(real)):  # type: ignore[misc]  # the class's own metaclass
        def __instancecheck__(cls, instance: Any) -> bool:  # Any: anything
            return isinstance(instance, real)

    class Generator(real, metaclass=_Meta):  # type: ignore[misc]  # a class of torch's own
        def __new__(cls, device: Any = "cpu") -> Any:  # Any: a device; a generator
            if names_cuda(device):
                recorder.notes.here(facts.GENERATOR, "a generator on cuda draws the numbers that the CPU's would")
                made = real.__new__(_OnCuda)
            else:
                made = real.__new__(real, device=device)
            return made

    class _OnCuda(real):  # type: ignore[misc]  # a class of torch's own
        @property
        def device(self) -> torch.device:
            return CUDA_DEVICE

    Generator.__name__ = "Generator"
    return Generator


def make_legacy_types(make: Callable[..., torch.Tensor], is_cuda: Callable[[torch.Tensor], bool]) -> dict[str, type]:
    """`torch.cuda.FloatTensor` and its like."""

    def legacy(name: str, plain: Any) -> type:  # Any: one of torch's legacy types
        class _Meta(type):
            def __instancecheck__(cls, instance: Any) -> bool:  # Any: anything
                return isinstance(instance, torch.Tensor) and instance.dtype is plain.dtype and is_cuda(instance)

            def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:  # Any: the legacy constructor's forms
                kwargs.pop("device", None)
                return make(plain(*args, **kwargs))

        return _Meta(
            name, (), {"dtype": plain.dtype, "type_name": f"torch.cuda.{name}", "is_cuda": True, "__module__": "torch.cuda"}
        )

    names = ["Float", "Double", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool"]
    return {f"{n}Tensor": legacy(f"{n}Tensor", getattr(torch, f"{n}Tensor")) for n in names}


def make_graphs(recorder: Recorder) -> tuple[type, type]:
    """`CUDAGraph` and the context that captures one: what is captured is run again, operation by operation, at each replay."""

    class CUDAGraph:
        def __init__(self, keep_graph: bool = False) -> None:
            self.tape: list[tuple[Any, Any, Any, Any]] = []  # Any: operation, arguments, keyword arguments, result

        def capture_begin(self, *_: Any, **__: Any) -> None:  # Any: ignored
            recorder.tape = self.tape

        def capture_end(self) -> None:
            recorder.tape = None

        def replay(self) -> None:
            with torch.no_grad():
                for func, args, kwargs, out in self.tape:
                    _put(func(*args, **(kwargs or {})), out)

        def reset(self) -> None:
            self.tape = []

        def pool(self) -> tuple[int, int]:
            return (0, 0)

        def instantiate(self) -> None:
            return None

        def enable_debug_mode(self) -> None:
            return None

        def debug_dump(self, path: str) -> None:
            return None

    class graph:  # noqa: N801  # torch's name
        def __init__(self, cuda_graph: Any, pool: Any = None, stream: Any = None, **_: Any) -> None:  # Any: ours; ignored
            self.graph = cuda_graph

        def __enter__(self) -> None:
            recorder.notes.warn("CUDA graphs are recorded operation by operation, as if they were not captured.")
            recorder.notes.here("cuda_graph", "a CUDA graph is captured; its replays are recorded operation by operation")
            self.graph.capture_begin()

        def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
            self.graph.capture_end()

    return CUDAGraph, graph


def _put(new: Any, old: Any) -> None:  # Any: result of any operation
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        if old.data_ptr() != new.data_ptr() and old.shape == new.shape:
            old.data.copy_(new)
    elif isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
        for one, other in zip(new, old, strict=False):
            _put(one, other)
