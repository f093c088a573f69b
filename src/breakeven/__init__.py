"""breakeven: which device a training should run on, why it is slow, and what to change."""

from __future__ import annotations

__version__ = "0.1.0"


def step() -> None:
    """Say that a training step begins here, where breakeven cannot see it by itself.

    Costs a look-up, and does nothing, in a script that breakeven does not run.

    >>> step()
    """
    import builtins

    mark = getattr(builtins, "__breakeven_step__", None)
    if mark is not None:
        mark()


def __getattr__(name: str) -> object:
    """`breakeven.sweep` without an import of its own: loaded when it is first asked for."""
    if name == "sweep":
        from importlib import import_module

        return import_module("breakeven.sweep")
    raise AttributeError(f"module 'breakeven' has no attribute {name!r}")
