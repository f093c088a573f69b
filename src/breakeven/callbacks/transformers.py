"""A callback for Hugging Face's Trainer: `Trainer(…, callbacks=[breakeven.callbacks.transformers.callback()])`."""

from __future__ import annotations

from typing import Any

from breakeven.callbacks.hooks import begin, end, framework, watching


def callback(**options: Any) -> Any:  # what `breakeven.watch` takes; the Trainer's own class, which it alone knows
    """Watches `train`; its attribute `watch` is the watch. The Trainer tells nobody of an error: call `watch.close()` then.

    Raises:
        MissingExtra: transformers is not installed.
    """
    base = framework("transformers", "Hugging Face's Trainer", "transformers").TrainerCallback
    return watching(base, {"on_train_begin": begin, "on_train_end": end}, options)
