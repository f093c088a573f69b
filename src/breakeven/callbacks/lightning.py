"""A callback for Lightning: `Trainer(callbacks=[breakeven.callbacks.lightning.callback()])`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from breakeven.errors import MissingExtra
from breakeven.workflows.watch import watch


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; Lightning's own class, which it alone knows
    """Watches `fit`; its attribute `watch` is the watch.

    Raises:
        MissingExtra: Lightning is not installed.
    """
    try:
        base: Any = import_module("lightning.pytorch").Callback
    except ModuleNotFoundError as error:
        raise MissingExtra("the callback for Lightning needs it: pip install lightning") from error

    class Watching(base):  # type: ignore[misc]  # its base is only known now
        def __init__(self) -> None:
            self.watch = watch(**options)

        def on_train_start(self, *_: object) -> None:
            self.watch.__enter__()

        def on_train_end(self, *_: object) -> None:
            self.watch.__exit__(None, None, None)

        def on_exception(self, _trainer: object, _module: object, error: BaseException) -> None:
            self.watch.close(error)

    return Watching()
