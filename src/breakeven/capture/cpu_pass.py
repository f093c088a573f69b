"""Device moves patched to the CPU, once: a script that says `cuda` runs as the same script with `cuda` replaced by `cpu`.

Only what names a device is wrapped (`to`, `cuda`, factories, `load`, autocast …); no mode is active and no operation is
intercepted, so that the hot path is PyTorch's own. What a tensor says of its `device` stays the truth; `is_cuda` follows the
script where the script itself asks, since scripts make sure by it that their moves have worked.
Not known: code that asks CUDA past PyTorch (pynvml, CuPy, Triton, custom extensions). Child process only.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from breakeven.capture import cuda_answers

#: Device types that mean "the accelerator".
ACCELERATORS: Final = frozenset({"cuda", "mps", "xpu", "hip", "hpu", "mtia"})

#: Factories that take `device=`, beside those that `torch.utils._device` lists.
LIKE: Final = ("normal", "empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
NEW: Final = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_tensor", "new_zeros")

#: Where everything goes here: one object, so that it is known again when it comes back.
_CPU: Final = torch.device("cpu")


@dataclass
class Asked:
    """Which devices the script has named so far: what tells a CPU twin from a GPU twin in this pass.

    Attributes:
        named: accelerator types, by first mention.
        last: logical device that was named last, by a move or a factory.
        moved: parameters that were moved to the accelerator, by id.
    """

    named: dict[str, None] = field(default_factory=dict)
    last: str = "cpu"
    moved: dict[int, weakref.ref[torch.Tensor]] = field(default_factory=dict)

    def device_of(self, optimizer: torch.optim.Optimizer | None) -> str:
        """Logical device of an optimizer's parameters; for None, or where they were made in place, the one named last."""
        if optimizer is not None:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            if any((ref := self.moved.get(id(p))) is not None and ref() is p for p in parameters):
                return "cuda"
        return self.last


def install(is_user: Callable[[str], bool] = lambda file: False) -> Asked:
    """Patch the process; there is no way back but its end.

    Args:
        is_user: whether a file is the user's own.
    """
    asked = Asked()
    here = _translator(asked)
    _moves(asked, here)
    _factories(here)
    _defaults(asked, here)
    _mixed_precision()
    _files(here)
    _loaders_and_modules()
    _questions(asked, is_user)
    cuda_answers.install()
    return asked


def _translator(asked: Asked) -> Callable[[Any], Any]:  # anything that may name a device
    """A function from whatever names a device to what names it here: itself, or the CPU."""
    cpu = _CPU
    known: dict[Any, tuple[Any, str]] = {}

    def look(value: Any) -> tuple[Any, str]:
        if isinstance(value, bool) or not isinstance(value, (str, int, torch.device)):
            return value, ""
        kind = "cuda" if isinstance(value, int) else torch.device(value).type
        return (cpu, kind) if kind in ACCELERATORS or kind == "cpu" else (value, "")

    def here(value: Any) -> Any:
        if value is cpu:  # ours, come back through a function mode: it has been heard already
            return value
        try:
            found = known.get(value)
        except TypeError:
            return value
        if found is None:
            found = known[value] = look(value)
        local, kind = found
        if kind:
            if kind == "cpu":
                asked.last = "cpu"
            else:
                asked.last = "cuda"
                asked.named[kind] = None
        return local

    return here


def _moves(asked: Asked, here: Callable[[Any], Any]) -> None:
    tensor, device, cpu = torch.Tensor, torch.device, _CPU
    to, new = tensor.to, tensor.new
    parameter = torch.nn.Parameter

    def remember(self: torch.Tensor) -> None:
        if type(self) is not tensor and isinstance(self, parameter):
            if asked.last == "cuda":
                asked.moved[id(self)] = weakref.ref(self)
            else:
                asked.moved.pop(id(self), None)

    def moved(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # as `Tensor.to` takes them
        if len(args) == 1 and not kwargs and type(self) is tensor and type(args[0]) is device:
            local = here(args[0])  # what libraries call in each step (gradient clipping: twice per parameter)
            return self if local is cpu and self.is_cpu else to(self, local)
        if args:
            first = args[0]
            kind = type(first)
            if kind is torch.device or kind is str or kind is int:
                args = (here(first), *args[1:])
                remember(self)
        if "device" in kwargs:
            kwargs["device"] = here(kwargs["device"])
            remember(self)
        return to(self, *args, **kwargs)

    def cuda(self: torch.Tensor, device: Any = None, *args: Any, **kwargs: Any) -> torch.Tensor:  # as `Tensor.cuda`
        here("cuda")
        remember(self)
        return self

    def pinned(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # as `Tensor.pin_memory`
        return self

    def fresh(self: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:  # as `Tensor.new`
        if "device" in kwargs:
            kwargs["device"] = here(kwargs["device"])
        return new(self, *args, **kwargs)

    replace(tensor, "to", moved)
    for name in ("cuda", "xpu"):
        replace(tensor, name, cuda)
    replace(tensor, "pin_memory", pinned)
    replace(tensor, "new", fresh)
    replace(tensor, "type", _typed(tensor.type))
    for storage in (torch.UntypedStorage, torch.TypedStorage):
        replace(storage, "cuda", lambda self, *args, **kwargs: self)
    _packed(here)


def _questions(asked: Asked, is_user: Callable[[str], bool]) -> None:
    """`is_cuda` in the user's own code: true once the script has moved something to the accelerator."""
    truth = torch.Tensor.is_cuda

    def is_cuda(self: torch.Tensor) -> bool:
        if asked.named and is_user(sys._getframe(1).f_code.co_filename):
            return True
        return bool(truth.__get__(self))  # type: ignore[attr-defined]  # a C attribute of the class

    torch.Tensor.is_cuda = property(is_cuda)  # type: ignore[assignment]  # its stand-in


def _packed(here: Callable[[Any], Any]) -> None:
    packed = torch.nn.utils.rnn.PackedSequence
    replace(packed, "cuda", lambda self, *args, **kwargs: self.to("cuda"))
    del here  # its `to` moves the tensors inside


def _typed(original: Callable[..., Any]) -> Callable[..., Any]:
    def typed(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:  # a dtype, a type or its name
        if isinstance(dtype, str):
            dtype = dtype.replace("torch.cuda.", "torch.")
        return original(self, *(() if dtype is None else (dtype,)), *args, **kwargs)

    return typed


def _factories(here: Callable[[Any], Any]) -> None:
    from torch.utils._device import _device_constructors

    makers = set(_device_constructors())
    for owner in (torch, torch.fft, torch.nested):
        for name in dir(owner):
            made = getattr(owner, name)
            if callable(made) and getattr(made, "__hash__", None) is not None and made in makers:
                replace(owner, name, _made(made, here))
    for name in LIKE:
        replace(torch, name, _made(getattr(torch, name), here))
    for name in NEW:
        replace(torch.Tensor, name, _made(getattr(torch.Tensor, name), here))
    ordinary = torch.Generator

    class Generator(ordinary):  # type: ignore[misc, valid-type]  # a C class
        """A generator, on the CPU whatever it is asked."""

        def __new__(cls, device: Any = None) -> Any:  # whatever names a device
            local = here(device) if device is not None else torch.device("cpu")
            return ordinary.__new__(cls, local)  # type: ignore[call-arg]  # a C class: it takes a device

    Generator.__module__ = "torch"
    torch.Generator = Generator  # type: ignore[misc]  # its stand-in


def _made(original: Callable[..., Any], here: Callable[[Any], Any]) -> Callable[..., Any]:
    def made(*args: Any, **kwargs: Any) -> Any:  # as the factory takes them
        if kwargs:
            device = kwargs.get("device")
            if device is not None:
                kwargs["device"] = here(device)
        return original(*args, **kwargs)

    return made


def _defaults(asked: Asked, here: Callable[[Any], Any]) -> None:
    from torch.utils import _device

    begin = _device.DeviceContext.__init__

    def context(self: Any, device: Any) -> None:  # what names a device
        local = here(device)
        begin(self, local)
        if isinstance(local, torch.device):
            self.device = local  # the very object, so that `here` knows it again

    replace(_device.DeviceContext, "__init__", context)
    add = torch.optim.Optimizer.add_param_group

    def group(self: torch.optim.Optimizer, param_group: dict[str, Any]) -> None:  # as torch takes it
        add(self, param_group)
        if asked.last == "cuda":  # parameters that were made in place: later the optimizer itself names the CPU for its counts
            asked.moved.update((id(p), weakref.ref(p)) for p in self.param_groups[-1]["params"])

    replace(torch.optim.Optimizer, "add_param_group", group)
    for name in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):  # by PyTorch's version
        if hasattr(torch.optim.Optimizer, name):  # asked in each step, dearly where an accelerator is said to be there
            replace(torch.optim.Optimizer, name, lambda self: None)
    set_type = torch.set_default_tensor_type

    def default_type(kind: Any) -> None:  # a type or its name
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__name__}"
        set_type(name.replace("torch.cuda.", "torch."))

    replace(torch, "set_default_tensor_type", default_type)


def _mixed_precision() -> None:
    begin_autocast, begin_scaler = torch.autocast.__init__, torch.amp.GradScaler.__init__

    @functools.wraps(begin_autocast)
    def autocast(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: Any = None) -> None:
        if device_type.partition(":")[0] in ACCELERATORS:
            device_type, dtype, enabled = "cpu", torch.bfloat16, False
        begin_autocast(self, device_type, dtype, enabled, cache_enabled)

    @functools.wraps(begin_scaler)
    def scaler(self: Any, device: str = "cuda", *args: Any, **kwargs: Any) -> None:
        kwargs["enabled"] = False
        begin_scaler(self, "cpu", *args[:4], **kwargs)

    replace(torch.autocast, "__init__", autocast)
    replace(torch.amp.GradScaler, "__init__", scaler)


def _files(here: Callable[[Any], Any]) -> None:
    load = torch.load

    def loaded(f: Any, map_location: Any = None, *args: Any, **kwargs: Any) -> Any:  # as `torch.load` takes them
        if map_location is None or isinstance(map_location, dict):
            map_location = torch.device("cpu")
        elif not callable(map_location):
            map_location = here(map_location)
        return load(f, map_location, *args, **kwargs)

    replace(torch, "load", loaded)


def _loaders_and_modules() -> None:
    from torch.nn.parallel import DataParallel
    from torch.utils.data import dataloader

    begin_iteration = dataloader._BaseDataLoaderIter.__init__

    def iteration(self: Any, loader: Any) -> None:  # a private class
        pin, loader.pin_memory = loader.pin_memory, False
        try:
            begin_iteration(self, loader)
        finally:
            loader.pin_memory = pin

    def parallel(self: Any, module: torch.nn.Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        torch.nn.Module.__init__(self)
        self.module, self.device_ids, self.output_device, self.dim = module, [], None, dim

    replace(dataloader._BaseDataLoaderIter, "__init__", iteration)
    replace(DataParallel, "__init__", parallel)
    replace(torch, "compile", _not_compiled)
    replace(torch.nn.Module, "compile", lambda self, *args, **kwargs: None)


def _not_compiled(model: Any = None, **_options: Any) -> Any:  # as `torch.compile`: a function, a module, or a decorator
    return model if model is not None else _not_compiled


def replace(owner: Any, name: str, value: Any) -> None:  # a module or a class
    """Put `value` in place of `owner.name`, under its name and with its documentation."""
    before = getattr(owner, name)
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__"):
        try:
            setattr(value, attribute, getattr(before, attribute))
        except (AttributeError, TypeError):  # C functions lack some of these
            continue
    value.__wrapped__ = before
    setattr(owner, name, value)
