"""A callback for Lightning: `Trainer(callbacks=[breakeven.callbacks.lightning.callback()])`."""

from __future__ import annotations

from typing import Any

from breakeven.callbacks.hooks import begin, end, framework, watching
from breakeven.workflows.watch import Watch


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; Lightning's own class, which it alone knows
    """Watches `fit`; its attribute `watch` is the watch.

    Raises:
        MissingExtra: Lightning is not installed.
    """
    base = framework("lightning.pytorch", "Lightning", "lightning").Callback
    return watching(base, {"on_train_start": begin, "on_train_end": end, "on_exception": _failed}, options)


def _failed(watched: Watch[Any], _trainer: object, _module: object, error: BaseException) -> None:
    watched.close(error)
