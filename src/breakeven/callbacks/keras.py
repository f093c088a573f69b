"""A callback for Keras 3 on its PyTorch backend: `model.fit(…, callbacks=[breakeven.callbacks.keras.callback()])`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from breakeven.errors import InputError, MissingExtra
from breakeven.workflows.watch import watch


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; Keras' own class, which it alone knows
    """Watches `fit`; its attribute `watch` is the watch. A step is a batch: Keras' optimizers are not PyTorch's.

    Raises:
        MissingExtra: Keras is not installed.
        InputError: Keras runs on another backend.
    """
    try:
        keras: Any = import_module("keras")
    except ModuleNotFoundError as error:
        raise MissingExtra("the callback for Keras needs it: pip install keras") from error
    if keras.backend.backend() != "torch":
        raise InputError(f"Keras runs on {keras.backend.backend()} here; set KERAS_BACKEND=torch before it is imported")

    class Watching(keras.callbacks.Callback):  # type: ignore[misc]  # its base is only known now
        def __init__(self) -> None:
            super().__init__()
            self.watch = watch(**options)

        def on_train_begin(self, *_: object, **__: object) -> None:
            self.watch.__enter__()

        def on_train_batch_begin(self, *_: object, **__: object) -> None:
            self.watch.step()

        def on_train_end(self, *_: object, **__: object) -> None:
            self.watch.__exit__(None, None, None)

    return Watching()
