"""Elementwise operations and other streams of bytes: their traffic, and a kernel's floor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part, Wanted, uncached
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from breakeven.units import ITEM_SIZE

_TWO: Final[Mapping[str, float | None]] = {"elements": None, "inputs": 2.0}
_ONE: Final[Mapping[str, float | None]] = {"elements": None, "inputs": 1.0}
_UNARY: Final = ("relu", "gelu", "tanh", "sigmoid")
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {
    **dict.fromkeys(("add", "mul", "div", "pow"), _TWO),
    **dict.fromkeys(_UNARY, _ONE),
    "stream": {"bytes": None, "elements": 0.0},
}
DIRECTIONS: Final = ("forward", "backward", "both")
#: Operations of many instructions an element; the others wait for memory on every device.
_MANY: Final = ("pow", "tanh", "gelu", "sigmoid")
#: Knots by the bytes moved: 4 KiB to 4 GiB, a factor of 2 apart.
_BYTES: Final = Axis(12.0, 1.0, 21)
#: Variants with a table of corrections: each operation with one tensor and with two.
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {
    **{f"{op}{inputs}": (_BYTES,) for op in ("add", "mul", "div", "pow") for inputs in (1, 2)},
    **{f"{op}1": (_BYTES,) for op in _UNARY},
    "stream": (_BYTES,),
}


def stream(x: Arithmetic, variant: str, moved: Values, elements: Values, dtype: str, r: Rates) -> Part:
    """A kernel that moves so many bytes: at the memory's rate, or out of the L2 while they fit.

    The terms: the traffic; the part of it that no L2 of this device can hold; the arithmetic; a kernel, and the ramp to full
    bandwidth (a device needs about as many bytes in flight as bandwidth × latency).
    """
    memory = moved / r.bandwidth
    cached = r.l2_bytes / r.bandwidth
    traffic = {
        "bytes": memory,
        "beyond_l2": x.maximum(memory - cached, 0.0),
        "beyond_half_l2": x.maximum(memory - 0.5 * cached, 0.0),
        "beyond_2_l2": x.maximum(memory - 2.0 * cached, 0.0),
    }
    compute = {"elements": elements / r.vector[dtype]} if variant.startswith(_MANY) else {}
    fixed = {"kernel": 1.0, "ramp": memory / (memory + 1.0), "ramp3": memory / (memory + 3.0)}
    return Part(variant, compute, traffic, fixed, (x.log2(x.maximum(moved, 1.0)),), uncached(x, moved, r))


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """One kernel a direction; a gradient reads one tensor more (the saved input or output) than a unary operation does."""
    size = float(ITEM_SIZE[dtype])
    elements = c["elements"]
    if op == "stream":
        return [stream(x, op, c["bytes"], elements, dtype, r)]
    inputs = c["inputs"]  # one number: rows are priced by it in groups
    one = 1 if op in _UNARY or inputs < 2.0 else 2

    def kernel(read: Values) -> Part:
        return stream(x, f"{op}{one}", (read + 1.0) * elements * size, elements, dtype, r)

    if direction == "forward":
        return [kernel(inputs)]
    backward = kernel(x.maximum(inputs, 2.0))
    return [backward] if direction == "backward" else [kernel(inputs), backward]
