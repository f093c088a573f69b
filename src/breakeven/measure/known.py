"""Devices by the names that people type: `cpu`, `cuda`, `cuda:1`, `mps`, `xpu`, `gpu`. A new kind: a backend, a line here."""

from __future__ import annotations

from collections.abc import Callable

from breakeven.errors import InputError, NoAnswer
from breakeven.measure.backends.cpu import Cpu
from breakeven.measure.backends.cuda import Cuda
from breakeven.measure.backends.mps import Mps
from breakeven.measure.backends.protocol import Backend
from breakeven.measure.backends.xpu import Xpu

#: Kind → its device of a number.
KINDS: dict[str, Callable[[int], Backend]] = {
    "cpu": lambda index: Cpu(),
    "cuda": Cuda,
    "mps": lambda index: Mps(),
    "xpu": Xpu,
}


def split_name(text: str) -> tuple[str, int]:
    """Kind and number of a device's name; no look at whether it is there. `gpu` is kept for `find_backend`.

    Raises:
        InputError: no such kind.

    >>> split_name("cuda:1"), split_name("CPU")
    (('cuda', 1), ('cpu', 0))
    """
    kind, _, number = text.strip().lower().partition(":")
    kind = "cuda" if kind in ("hip", "rocm") else kind
    if kind not in (*KINDS, "gpu") or (number and not number.isdigit()):
        raise InputError(
            f"no device is called {text!r}: there are {', '.join(KINDS)} and gpu (whichever is here), with :N for more"
        )
    return kind, int(number or 0)


def find_backend(text: str) -> Backend:
    """The device of a name, which must be usable; asks PyTorch, so only for a process that may import it.

    Raises:
        InputError: no such kind.
        NoAnswer: it is not usable here.
    """
    kind, index = split_name(text)
    kinds = [k for k in KINDS if k != "cpu"] if kind == "gpu" else [kind]
    for one in kinds:
        backend = KINDS[one](index)
        if backend.is_present():
            return backend
    raise NoAnswer(f"{text} cannot be used here; `breakeven devices` says why and what to do")


def present_backends() -> tuple[Backend, ...]:
    """Every device that can be used now, the CPU first; of each kind all numbers."""
    found: list[Backend] = []
    for make in KINDS.values():
        for index in range(64):  # more than any machine has
            backend = make(index)
            if not backend.is_present() or any(b.device == backend.device for b in found):
                break
            found.append(backend)
    return tuple(found)
