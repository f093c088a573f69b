"""One node of an ONNX graph that is to be written: its attributes, its inputs as text, what it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from breakeven.errors import InputError
from breakeven.models.translation import Axes, number, numbers

Array = np.ndarray[Any, Any]  # Any: whatever a file holds
#: Names of ONNX's element types as PyTorch calls them.
TYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    16: "bfloat16",
}
#: Types whose arrays are learned.
REAL = (1, 10, 11, 16)


@dataclass
class Node:
    """A node.

    Attributes:
        op: its operator.
        opset: version of the operators.
        attributes: by name.
        inputs: names of what it reads; "": left out.
        fed, given: shapes of inputs and outputs; None: not known.
        types: element types of inputs.
        known: values of inputs that are constants.
        stored: whether an input is a stored array.
        reads: layers that it reads, as far as it has asked for them.
        makes, arrays: lines and learned arrays, as far as it has asked for them.
        find: a value's layer, and the text of it (`@`: the layer's value).
    """

    op: str
    opset: int
    attributes: dict[str, Any]  # Any: numbers, text, arrays
    inputs: tuple[str, ...]
    fed: tuple[Axes | None, ...]
    given: tuple[Axes | None, ...]
    types: tuple[int, ...]
    known: dict[int, Array]
    stored: frozenset[int]
    find: Callable[[str], tuple[str, str]]
    reads: list[str] = field(default_factory=list)
    makes: list[str] = field(default_factory=list)
    arrays: list[tuple[str, Axes]] = field(default_factory=list)
    needs: list[str] = field(default_factory=list)

    def has(self, at: int) -> bool:
        """Whether an input is there."""
        return at < len(self.inputs) and bool(self.inputs[at])

    def shape(self, at: int = 0) -> Axes:
        """The shape of an input."""
        shape = self.fed[at] if at < len(self.fed) else None
        if shape is None:
            raise InputError(f"the shape of its input {at + 1} is not known")
        return shape

    def out(self) -> Axes:
        """The shape of its first output."""
        if self.given[0] is None:
            raise InputError("the shape of what it gives is not known")
        return self.given[0]

    def text(self, at: int) -> str:
        """An input as an expression."""
        if at in self.known and (self.known[at].size == 1 or at not in self.stored or self.types[at] not in REAL):
            return self._constant(at)
        if at in self.stored:
            return self.array(at)
        layer, text = self.find(self.inputs[at])
        if layer not in self.reads:
            self.reads.append(layer)
        return text.replace("@", f"${self.reads.index(layer)}")

    def array(self, at: int, start: str = "torch.randn({}) * 0.02") -> str:
        """A stored array as a parameter."""
        if at not in self.stored and at not in self.known:
            return self.text(at)
        sizes = ", ".join(map(str, self.shape(at)))
        if self.types[at] in REAL:
            self.makes.append(f"$me_{at} = nn.Parameter({start.format(f'({sizes},)' if sizes else '()')})")
            self.arrays.append((f"weights_{at}", self.shape(at)))
        else:
            kind = TYPES.get(self.types[at], "int64")
            self.makes.append(f"$me_{at} = nn.Parameter(torch.zeros(({sizes},), dtype=torch.{kind}), requires_grad=False)")
        return f"$me_{at}"

    def _constant(self, at: int) -> str:
        value = self.known[at]
        if value.size == 1:
            return number(value.reshape(()).item())
        kind = TYPES.get(self.types[at], "float32")
        if value.size and (value == value.flat[0]).all():
            sizes = ", ".join(map(str, value.shape))
            made = f"torch.full(({sizes},), {number(value.flat[0].item())}, dtype=torch.{kind})"
        else:
            made = f"torch.tensor({_listed(value.tolist())}, dtype=torch.{kind})"
        self.makes.append(f"$me_{at} = nn.Parameter({made}, requires_grad=False)")
        return f"$me_{at}"

    def constant(self, at: int, name: str = "") -> list[int] | None:
        """Whole numbers that an attribute or a constant input says; None: neither does.

        Raises:
            InputError: they are only known when the graph runs.
        """
        if name and name in self.attributes:
            value = self.attributes[name]
            return [int(v) for v in value] if isinstance(value, list | tuple) else [int(value)]
        if not self.has(at):
            return None
        if at not in self.known:
            raise InputError(f"its input {at + 1} is only known when the graph runs")
        return [int(v) for v in self.known[at].reshape(-1)]

    def whole(self, name: str, default: int = 0) -> int:
        """A whole-number attribute."""
        return int(self.attributes.get(name, default))

    def real(self, name: str, default: float) -> float:
        """A number attribute; a float32 as short as it was meant."""
        value = float(self.attributes.get(name, default))
        return float(np.format_float_positional(np.float32(value), trim="0")) if math.isfinite(value) else value

    def axis(self, value: int, rank: int | None = None) -> int:
        """An axis counted from the front."""
        rank = len(self.shape(0)) if rank is None else rank
        if not -rank <= value < max(1, rank):
            raise InputError(f"axis {value} of {rank}")
        return value % rank if rank else 0

    def said(self, value: Axes) -> str:
        """Sizes as text."""
        return numbers(value)


def _listed(value: Any) -> str:  # Any: nested lists of numbers
    return f"[{', '.join(map(_listed, value))}]" if isinstance(value, list) else number(value)
