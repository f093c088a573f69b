"""`breakeven.watch` where training loops live: a thin file for each framework, imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

_FRAMEWORKS = ("keras", "lightning", "transformers")


def __getattr__(name: str) -> ModuleType:
    if name not in _FRAMEWORKS:
        raise AttributeError(f"module 'breakeven.callbacks' has no attribute {name!r}")
    return import_module(f"breakeven.callbacks.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FRAMEWORKS})
