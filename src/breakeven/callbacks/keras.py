"""A callback for Keras 3 on its PyTorch backend: `model.fit(…, callbacks=[breakeven.callbacks.keras.callback()])`."""

from __future__ import annotations

from typing import Any

from breakeven.callbacks.hooks import begin, end, framework, watching
from breakeven.errors import InputError
from breakeven.workflows.watch import Watch


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; Keras' own class, which it alone knows
    """Watches `fit`; its attribute `watch` is the watch. A step is a batch: Keras' optimizers are not PyTorch's.

    An error in `fit` is told to no callback: call `watch.close()` then.

    Raises:
        MissingExtra: Keras is not installed.
        InputError: Keras runs on another backend.
    """
    keras = framework("keras", "Keras", "keras")
    if keras.backend.backend() != "torch":
        raise InputError(f"Keras runs on {keras.backend.backend()} here; set KERAS_BACKEND=torch before it is imported")
    return watching(
        keras.callbacks.Callback, {"on_train_begin": begin, "on_train_batch_begin": _batch, "on_train_end": end}, options
    )


def _batch(watched: Watch[Any], *_: object, **__: object) -> None:
    watched.step()
