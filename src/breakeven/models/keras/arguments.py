"""The arguments of a layer's configuration, read with their types; whatever is not as Keras writes it is named."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from breakeven.errors import InputError
from breakeven.models.translation import Axes

#: Largest size that is read.
LARGEST = 2**31


@dataclass(frozen=True)
class At:
    """A layer that is to be translated.

    Attributes:
        kind: its class.
        name: as the file calls it.
        config: its configuration.
        fed: shapes of one sample that go in.
        masked: whether a mask comes with the first input.
        notes: what the user should know, gathered.
    """

    kind: str
    name: str
    config: dict[str, Any]  # Any: JSON
    fed: tuple[Axes, ...]
    masked: bool = False
    notes: list[str] = field(default_factory=list)

    def wrong(self, key: str) -> InputError:
        """The error about an argument."""
        return InputError(f"{key}={str(self.config.get(key))[:60]} is not understood")

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        """A whole number."""
        value = self.config.get(key, default)
        value = default if value is None else value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value < LARGEST:
            raise self.wrong(key)
        return value

    def real(self, key: str, default: float) -> float:
        """A finite number."""
        value = self.config.get(key, default)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(key)
        return float(value)

    def rate(self, key: str) -> float:
        """A probability."""
        value = self.real(key, 0.0)
        if not 0 <= value < 1:
            raise self.wrong(key)
        return value

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.config.get(key, default)
        value = default if value is None else value
        if not isinstance(value, bool | int):
            raise self.wrong(key)
        return bool(value)

    def word(self, key: str, default: str, known: tuple[str, ...] = ()) -> str:
        """One of some words."""
        value = self.config.get(key, default)
        value = default if value is None else value
        if not isinstance(value, str) or (known and value not in known):
            raise self.wrong(key)
        return value

    def sizes(self, key: str, dimensions: int, default: int | None = None, least: int = 1) -> Axes:
        """A size for each dimension; one number stands for all."""
        value = plain(self.config.get(key, default))
        value = default if value is None else value
        values = [value] * dimensions if isinstance(value, int) else value
        if not isinstance(values, list) or len(values) != dimensions:
            raise self.wrong(key)
        if any(isinstance(v, bool) or not isinstance(v, int) or not least <= v < LARGEST for v in values):
            raise self.wrong(key)
        return tuple(values)

    def channels_last(self) -> None:
        """Refuse channels that come first."""
        self.word("data_format", "channels_last", ("channels_last",))


def plain(value: Any) -> Any:  # Any: JSON
    """A tuple as Keras writes it, as a list."""
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        return value.get("items")
    return value
