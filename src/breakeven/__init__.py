"""breakeven: which device a training should run on, why it is slow, and what to change."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

#: Name → module and name in it: imported when asked for, so that `import breakeven` is free.
_LAZY = {
    "time": ("breakeven.workflows.time", "time_here"),
    "pick": ("breakeven.workflows.pick", "pick"),
    "watch": ("breakeven.workflows.watch", "watch"),
    "load_ipython_extension": ("breakeven.notebook.magics", "load"),
}


def step() -> None:
    """Say that a training step begins here, where breakeven cannot see it by itself.

    Costs a look-up, and does nothing, in a script that breakeven does not run.

    >>> step()
    """
    import builtins

    mark = getattr(builtins, "__breakeven_step__", None)
    if mark is not None:
        mark()


def __getattr__(name: str) -> Any:  # whatever the name stands for; rooms below must not be seen to import those above
    from importlib import import_module

    if name in ("callbacks", "sweep"):  # the rooms themselves
        return import_module(f"breakeven.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'breakeven' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, "callbacks", "sweep"})
