"""The arguments of a call: positions, then names with values; what is asked for is checked, and what is left over is named."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from breakeven.errors import InputError
from breakeven.models.matlab.values import LARGEST, Unknown, Value
from breakeven.models.network import Place

#: Options that change how single parameters learn or start from given numbers: no effect on the time of a step.
_NO_EFFECT = re.compile(r".*(LearnRateFactor|L2Factor)$")


@dataclass
class Arguments:
    """The arguments of one call; each is taken once.

    Attributes:
        function: the name that was called.
        place: where.
        values: in their positions.
        options: name (as written) → value.
    """

    function: str
    place: Place
    values: Sequence[Value]
    options: Mapping[str, Value]
    taken: set[str] = field(default_factory=set)

    def wrong(self, what: str) -> InputError:
        """An error about this call."""
        return InputError(f"{self.place}: {self.function}: {what}")

    def has(self, at: int) -> bool:
        """Whether there is an argument in this position."""
        return at < len(self.values)

    def value(self, at: int, what: str) -> Value:
        """The argument in a position, which has to be known."""
        if not self.has(at):
            raise self.wrong(f"{what} is missing")
        return self._known(self.values[at], what)

    def option(self, name: str) -> Value | None:
        """The value of an option, by its name in any case; None: it is not given."""
        found = None
        for said, value in self.options.items():
            if said.lower() == name.lower():
                self.taken.add(said)
                found = self._known(value, name)
        return found

    def text(self, name: str, default: str, choices: Sequence[str]) -> str:
        """An option that is one of some words."""
        value = self.option(name)
        return default if value is None else self.choice(value, name, choices)

    def choice(self, value: Value, name: str, choices: Sequence[str]) -> str:
        """One of some words, in any case."""
        if isinstance(value, str) and value.lower() in [c.lower() for c in choices]:
            return next(c for c in choices if c.lower() == value.lower())
        said = repr(value) if isinstance(value, str) else "something else"
        raise self.wrong(f"{name} is {said}; understood are {', '.join(choices)}")

    def number(self, name: str, default: float) -> float:
        """An option that is a number."""
        value = self.option(name)
        return default if value is None else self.a_number(value, name)

    def whole(self, at: int, what: str) -> int:
        """A whole number above zero in a position."""
        return self.a_whole(self.value(at, what), what)

    def a_number(self, value: Value, what: str) -> float:
        """A value as a number."""
        if isinstance(value, float) and not np.isnan(value):
            return value
        raise self.wrong(f"{what} has to be a number")

    def a_whole(self, value: Value, what: str, least: int = 1) -> int:
        """A value as a whole number."""
        number = self.a_number(value, what)
        if not least <= number <= LARGEST or number != int(number):
            raise self.wrong(f"{what} is {number:g}: it has to be a whole number from {least} on")
        return int(number)

    def sizes(self, value: Value, what: str, count: int | None = None, least: int = 1) -> tuple[int, ...]:
        """A number or a vector of whole numbers; one number stands for `count` equal ones."""
        if isinstance(value, float):
            return (self.a_whole(value, what, least),) * (count or 1)
        if isinstance(value, np.ndarray) and value.size and max(value.shape) == value.size:
            numbers = tuple(self.a_whole(float(v), what, least) for v in value.reshape(-1))
            if count is None or len(numbers) == count:
                return numbers
            raise self.wrong(f"{what} has {len(numbers)} numbers; it takes 1 or {count}")
        raise self.wrong(f"{what} has to be a number or a vector")

    def option_sizes(self, name: str, count: int, default: int) -> tuple[int, ...]:
        """An option that is a number or a vector."""
        value = self.option(name)
        return (default,) * count if value is None else self.sizes(value, name, count)

    def done(self, harmless: Sequence[str] = ()) -> None:
        """Names an option that nobody asked for."""
        known = {*(name.lower() for name in harmless), "name", *(name.lower() for name in self.taken)}
        for said in self.options:
            if said.lower() in known or _NO_EFFECT.match(said):
                continue
            near = difflib.get_close_matches(said, [*harmless, *self.taken], n=1)
            raise self.wrong(f"the option {said!r} is not understood" + (f"; did you mean {near[0]}?" if near else ""))

    def _known(self, value: Value, what: str) -> Value:
        if isinstance(value, Unknown):
            raise InputError(f"{self.place}: {self.function}: {what} cannot be read: {value.reason} ({value.place})")
        return value


def split(values: Sequence[Value], positions: int) -> tuple[list[Value], dict[str, Value]]:
    """Positions and options of a call that lists options as `'Name', value` after at most so many positions.

    A position may be left out: a text with an odd number of arguments after it is the first name.
    """
    at = 0
    while at < min(positions, len(values)) and not (isinstance(values[at], str) and (len(values) - at) % 2 == 0):
        at += 1
    options: dict[str, Value] = {}
    rest = list(values[at:])
    while len(rest) >= 2 and isinstance(rest[0], str):
        options[rest[0]] = rest[1]
        rest = rest[2:]
    return [*values[:at], *rest], options
