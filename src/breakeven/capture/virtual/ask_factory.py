"""Everything that makes a tensor on a device that it is told: `torch.zeros(…, device="cuda")`, `tensor`, `new_*`, `*_like`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import perf_counter_ns
from typing import Any

import torch

from breakeven.capture.virtual.devices import CPU_DEVICE, CUDA_DEVICE, names_cuda
from breakeven.capture.virtual.marks import CUDA, PINNED
from breakeven.capture.virtual.moves import Mover
from breakeven.capture.virtual.patches import Patches
from breakeven.capture.virtual.recorder import Recorder

_PLAIN = [
    "empty",
    "empty_permuted",
    "empty_strided",
    "ones",
    "zeros",
    "full",
    "arange",
    "range",
    "eye",
    "linspace",
    "logspace",
    "rand",
    "randn",
    "randint",
    "randperm",
    "bartlett_window",
    "blackman_window",
    "hamming_window",
    "hann_window",
    "kaiser_window",
    "tril_indices",
    "triu_indices",
    "scalar_tensor",
    "normal",
    "sparse_coo_tensor",
    "sparse_compressed_tensor",
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
]
_LIKE = ["empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "randint_like"]
_NEW = ["new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full"]
_DATA = ["tensor", "as_tensor", "asarray"]

Make = Callable[..., torch.Tensor]


class Factories:
    """The patched factories and the default device, which they all obey."""

    def __init__(self, recorder: Recorder, mover: Mover) -> None:
        self.default: torch.device | None = None
        self._recorder = recorder
        self._mover = mover

    def install(self, patches: Patches) -> None:
        """Patch torch's factories, the tensor's, and the two ways to a default device."""
        self._install_default(patches)  # first: torch keeps a set of its own factories, by identity
        for name in _PLAIN:
            patches.set(torch, name, self._plain(getattr(torch, name), obeys_default=name != "normal"))
        for owner, names in ((torch.fft, ("fftfreq", "rfftfreq")), (torch.nested, ("nested_tensor",))):
            for name in names:
                patches.set(owner, name, self._plain(getattr(owner, name), obeys_default=True))
        for name in _LIKE:
            patches.set(torch, name, self._plain(getattr(torch, name), obeys_default=False))
        for name in _NEW:
            patches.set(torch.Tensor, name, self._plain(getattr(torch.Tensor, name), obeys_default=False))
        for name in _DATA:
            patches.set(torch, name, self._data(getattr(torch, name), shares=name != "tensor"))
        patches.set(torch.Tensor, "new_tensor", self._new_tensor())
        patches.set(torch.Tensor, "new", self._new(torch.Tensor.new))

    def _install_default(self, patches: Patches) -> None:
        from torch.utils import _device

        real_context, real_set, real_get = _device.DeviceContext, torch.set_default_device, torch.get_default_device
        factories = self

        class DeviceContext(real_context):  # type: ignore[misc,valid-type]  # a class of torch's own
            """`with torch.device("cuda")`: the interpreter pushes it as a function mode without entering it."""

            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:  # Any: torch's protocol
                kwargs = kwargs or {}
                if self.device.type != "cuda":
                    return super().__torch_function__(func, types, args, kwargs)
                if func in _device._device_constructors() and kwargs.get("device") is None:
                    return factories.make(func, CUDA_DEVICE, args, kwargs)
                return func(*args, **kwargs)

        def set_default_device(device: Any) -> None:  # Any: whatever the user passes
            self.default = CUDA_DEVICE if names_cuda(device) else None
            real_set(None if self.default is not None else device)

        def get_default_device() -> torch.device:
            return self.default or real_get()

        _device._device_constructors.cache_clear()
        _device._device_constructors()
        patches.on_undo(_device._device_constructors.cache_clear)
        patches.set(_device, "DeviceContext", DeviceContext)
        patches.set(torch, "set_default_device", set_default_device)
        patches.set(torch, "get_default_device", get_default_device)

    def make(self, real: Make, device: Any, args: Any, kwargs: dict[str, Any]) -> torch.Tensor:  # Any: any factory
        """Run a factory for a device that it is told."""
        recorder = self._recorder
        on_cuda = names_cuda(device)
        pinned = kwargs.pop("pin_memory", False)
        kwargs["device"] = CPU_DEVICE
        generator = kwargs.get("generator")
        if generator is not None and (generator.device.type == "cuda") != on_cuda:
            wanted, got = ("cuda", "cpu") if on_cuda else ("cpu", "cuda")
            raise RuntimeError(f"Expected a '{wanted}' device type for generator but found '{got}'")
        before, recorder.request = recorder.request, CUDA * on_cuda
        try:
            made = real(*args, **kwargs)
        finally:
            recorder.request = before
        if on_cuda:
            recorder.marks.add(made, CUDA)
        elif pinned:
            recorder.marks.add(made, PINNED)
        return made

    def _plain(self, real: Make, *, obeys_default: bool) -> Make:
        @wraps(real)
        def factory(*args: Any, **kwargs: Any) -> torch.Tensor:  # Any: any factory
            device = kwargs.get("device")
            if device is None and obeys_default and self.default is not None:
                device = self.default
            if device is None and not kwargs.get("pin_memory") and (kwargs.get("generator") is None or not obeys_default):
                return real(*args, **kwargs)
            if device is not None and not names_cuda(device) and torch.device(device).type != "cpu":
                return real(*args, **kwargs)
            return self.make(real, device, args, kwargs)

        return factory

    def _data(self, real: Make, *, shares: bool) -> Make:
        @wraps(real)
        def factory(data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:  # Any: any data
            device = kwargs.pop("device", args[1] if len(args) > 1 else None)
            if args:
                kwargs["dtype"] = args[0]
            pinned = kwargs.pop("pin_memory", False)
            if device is None and self.default is not None and not isinstance(data, torch.Tensor):
                device = self.default
            if device is not None and not names_cuda(device) and torch.device(device).type != "cpu":
                return real(data, device=device, **kwargs)
            if isinstance(data, torch.Tensor):
                return self._from_tensor(real, data, device, shares, kwargs)
            made = real(data, **kwargs)
            if device is not None and names_cuda(device):
                return self._sent(made, owned=not shares or not _is_shared(data))
            if pinned:
                self._recorder.marks.add(made, PINNED)
            return made

        return factory

    def _from_tensor(
        self, real: Make, data: torch.Tensor, device: Any, shares: bool, kwargs: dict[str, Any]
    ) -> torch.Tensor:  # Any: as the user passed it
        here = self._recorder.is_cuda(data)
        there = here if device is None else names_cuda(device)
        if here == there:
            made = real(data, **kwargs)
            if there:
                self._recorder.marks.add(made, CUDA)
            return made
        wants_grad = kwargs.pop("requires_grad", False)
        moved = self._mover.move(data if shares else data.detach(), CUDA * there, dtype=kwargs.get("dtype"))
        return moved.requires_grad_() if wants_grad else moved

    def _sent(self, made: torch.Tensor, *, owned: bool) -> torch.Tensor:
        """A new host tensor as one that was copied to the device."""
        if not owned:
            return self._mover.move(made, CUDA)
        began = perf_counter_ns()
        self._recorder.marks.add(made, CUDA)
        self._recorder.copied("h2d", made, pinned=False, non_blocking=False, began=began)
        return made

    def _new_tensor(self) -> Make:
        def new_tensor(tensor: torch.Tensor, data: Any, **kwargs: Any) -> torch.Tensor:  # Any: any data
            kwargs.setdefault("device", tensor.device)
            if kwargs.get("dtype") is None:
                kwargs["dtype"] = tensor.dtype
            return torch.tensor(data, **kwargs)

        return new_tensor

    def _new(self, real: Make) -> Make:
        def new(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # Any: the legacy constructor's many forms
            kwargs.pop("device", None)
            made = real(tensor, *args, **kwargs)
            if self._recorder.is_cuda(tensor):
                self._recorder.marks.add(made, CUDA)
            return made

        return new


def _is_shared(data: Any) -> bool:  # Any: any data
    return not isinstance(data, (list, tuple, int, float, bool, complex))
