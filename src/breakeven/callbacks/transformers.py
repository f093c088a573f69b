"""A callback for Hugging Face's Trainer: `Trainer(…, callbacks=[breakeven.callbacks.transformers.callback()])`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from breakeven.errors import MissingExtra
from breakeven.workflows.watch import watch


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; the Trainer's own class, which it alone knows
    """Watches `train`; its attribute `watch` is the watch. The Trainer tells nobody of an error: call `watch.close()` then.

    Raises:
        MissingExtra: transformers is not installed.
    """
    try:
        base: Any = import_module("transformers").TrainerCallback
    except ModuleNotFoundError as error:
        raise MissingExtra("the callback for Hugging Face's Trainer needs it: pip install transformers") from error

    class Watching(base):  # type: ignore[misc]  # its base is only known now
        def __init__(self) -> None:
            self.watch = watch(**options)

        def on_train_begin(self, *_: object, **__: object) -> None:
            self.watch.__enter__()

        def on_train_end(self, *_: object, **__: object) -> None:
            self.watch.__exit__(None, None, None)

    return Watching()
