"""What readers that translate into PyTorch's words share: numbers as text, counts of products, activations. It runs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from breakeven.errors import InputError
from breakeven.models.kinds import Computed, Product

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """What a layer becomes: as `kinds.Computed`, before its axes are said to be last or first."""

    calls: str
    shape: Axes
    makes: tuple[str, ...] = ()
    arrays: tuple[tuple[str, Axes], ...] = ()
    needs: tuple[str, ...] = ()
    flops: float = 0.0
    products: tuple[Product, ...] = field(default=())

    def kind(self, *, last: bool, shares: str | None = None) -> Computed:
        """The kind of layer."""
        return Computed(self.calls, self.shape, self.makes, self.arrays, self.needs, self.flops, self.products, last, shares)


def number(value: float) -> str:
    """A number as Python writes it.

    >>> number(0.5), number(float("-inf")), number(3)
    ('0.5', 'float("-inf")', '3')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def numbers(sizes: Axes) -> str:
    """Sizes as a tuple of Python, or as one number where all are equal."""
    if len(set(sizes)) == 1:
        return str(sizes[0])
    return f"({', '.join(map(str, sizes))})"


def linear(rows: int, inputs: int, outputs: int) -> tuple[float, tuple[Product, ...]]:
    """Operations of a product with a matrix of weights, for one sample of so many rows."""
    return 2.0 * rows * inputs * outputs, (Product("linear", (("m", rows), ("n", outputs), ("k", inputs)), "m"),)


def convolved(channels: int, size: Axes, filters: int, window: Axes, stride: Axes, padding: Axes, out: Axes,
              groups: int) -> tuple[float, tuple[Product, ...]]:  # fmt: skip
    """Operations of a convolution of one sample; `predict` knows those of one group over two dimensions."""
    flops = 2.0 * math.prod(out) * filters * (channels // groups) * math.prod(window)
    if groups != 1 or len(size) > 2:
        return flops, ()
    (h, w), (r, s), (sh, sw), (ph, pw) = [
        ((*(base,) * (2 - len(one)), *one)) for base, one in ((1, size), (1, window), (1, stride), (0, padding))
    ]
    sizes = (("n", 1), ("c", channels), ("h", h), ("w", w), ("k", filters), ("r", r), ("s", s), ("pad_h", ph), ("pad_w", pw),
             ("stride_h", sh), ("stride_w", sw))  # fmt: skip
    return flops, (Product("conv2d", sizes, "n"),)


def recurrent(cell: str, hidden: int, inputs: int, steps: int) -> tuple[float, tuple[Product, ...]]:
    """Operations of a recurrent layer in one direction, for one sample."""
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[cell]
    sizes = (("hidden", hidden), ("batch", 1), ("timesteps", steps), ("input", inputs), ("bidirectional", 0))
    return 2.0 * steps * gates * hidden * (inputs + hidden), (Product(cell, sizes, "batch"),)


def positive(shape: Axes, what: str) -> Axes:
    """A shape, if there is anything left of it.

    Raises:
        InputError: there is not.
    """
    if any(size < 1 for size in shape):
        raise InputError(f"{what} would give {'×'.join(map(str, shape))}: nothing is left")
    if math.prod(shape) > 2**34:
        raise InputError(f"{what} would give {math.prod(shape):.0e} elements a sample")
    return shape
