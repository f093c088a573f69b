"""What the callbacks have in common: an object of the framework's own kind, whose hooks begin and end a watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from breakeven.errors import MissingExtra
from breakeven.workflows.watch import Watch, watch

#: What a hook does with the watch, given what the framework hands to it.
Hook = Callable[..., None]


def framework(module: str, what: str, package: str) -> Any:  # the framework's module
    """A framework, imported now.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(f"the callback for {what} needs it: pip install {package}") from error


def watching(base: Any, hooks: Mapping[str, Hook], options: Mapping[str, Any]) -> Any:  # the framework's own class of callbacks
    """A callback below the framework's class, with the hooks as its methods and the watch as its attribute `watch`.

    Args:
        base: the framework's class.
        hooks: by the name that the framework calls; each gets the watch, and then what the framework hands over.
        options: what `breakeven.watch` takes.
    """

    class Watching(base):  # type: ignore[misc]  # its base is only known now
        def __init__(self) -> None:
            super().__init__()
            self.watch: Watch[Any] = watch(**options)

    for name, hook in hooks.items():
        setattr(Watching, name, _method(hook))
    return Watching()


def begin(watched: Watch[Any], *_: object, **__: object) -> None:
    """The training begins."""
    watched.__enter__()


def end(watched: Watch[Any], *_: object, **__: object) -> None:
    """It has ended."""
    watched.__exit__(None, None, None)


def _method(hook: Hook) -> Callable[..., None]:
    def method(self: Any, *args: Any, **named: Any) -> None:  # whatever the framework hands over
        hook(self.watch, *args, **named)

    return method
