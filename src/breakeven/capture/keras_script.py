"""What a script's Keras says at the script's end: its backend, how its recurrent layers are set. Child process only.

It imports nothing: where the script has not, there is nothing to say. It does not know whether a mask comes with a layer's input.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Final

from breakeven.capture.request import KerasLayer, KerasScript
from breakeven.foreign import attempt

_KINDS: Final = ("LSTM", "GRU", "SimpleRNN")
#: What decides on the path of a recurrent layer.
_ARGUMENTS: Final = ("activation", "recurrent_activation", "unroll", "use_bias", "reset_after", "recurrent_dropout")


def look() -> KerasScript | None:
    """What there is to say; None: the script has no Keras 3."""
    keras = sys.modules.get("keras")
    if keras is None:
        return None
    backend = attempt(lambda: str(keras.config.backend())).value
    if backend is None:
        return None
    layers = attempt(lambda: _layers(keras)).value if backend == "torch" else None
    return KerasScript(backend, layers or ())


def _layers(keras: Any) -> tuple[KerasLayer, ...]:  # Any: a package that is not ours
    kinds = tuple(getattr(keras.layers, name) for name in _KINDS)
    found = [one for one in gc.get_objects() if isinstance(one, kinds)]
    return tuple(KerasLayer(type(one).__name__, str(one.name), _arguments(one.get_config())) for one in found)


def _arguments(config: dict[str, Any]) -> dict[str, str | float | bool]:  # Any: JSON
    given = {name: config[name] for name in _ARGUMENTS if name in config}
    return {name: value if isinstance(value, str | int | float) else type(value).__name__ for name, value in given.items()}
