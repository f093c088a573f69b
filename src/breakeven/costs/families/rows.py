"""Softmax and layer norm over rows: traffic, and the passes over a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from breakeven.costs.arithmetic import Arithmetic, Values
from breakeven.costs.families.part import Part, Wanted, uncached
from breakeven.costs.rates import Rates
from breakeven.costs.table import Axis
from breakeven.units import ITEM_SIZE

_COLUMNS: Final[Mapping[str, float | None]] = {"rows": None, "cols": None}
COLUMNS: Final[Mapping[str, Mapping[str, float | None]]] = {"softmax": _COLUMNS, "layernorm": _COLUMNS}
DIRECTIONS: Final = ("forward", "backward", "both")
_TABLE: Final = (Axis(7.0, 2.0, 9), Axis(5.0, 0.5, 19))
AXES: Final[Mapping[str, tuple[Axis, ...]]] = {"softmax": _TABLE, "layernorm": _TABLE}
#: PyTorch's softmax keeps rows up to this many columns in registers of one warp, and reads longer ones again
#: (aten/src/ATen/native/cuda/SoftMax.cu, PersistentSoftmax.cuh).
_PERSISTENT: Final = 1024.0


def kernel(x: Arithmetic, variant: str, c: Mapping[str, Values], moves: float, dtype: str, r: Rates) -> Part:
    """Moves rows × cols elements `moves` times; a block or a warp per row.

    The terms: the traffic; once more for rows that do not stay in registers, or that no L2 keeps between passes; a row's
    own start and reduction, spread over the multiprocessors; a row that is long for its block; a kernel.
    """
    rows, cols, size = c["rows"], c["cols"], float(ITEM_SIZE[dtype])
    elements = rows * cols
    memory = moves * elements * size / r.bandwidth
    cached = r.l2_bytes / r.bandwidth
    again = x.where(cols > _PERSISTENT, 0.5 * memory, 0.0)
    traffic = {
        "bytes": memory,
        "again": again,
        "beyond_l2": x.maximum(memory - cached, 0.0),
        "beyond_2_l2": x.maximum(memory - 2.0 * cached, 0.0),
        "padded": moves * rows * (32.0 * x.ceil(cols / 32.0)) * size / r.bandwidth,
        "blocks": moves * rows * (1024.0 * x.ceil(cols / 1024.0)) * size / r.bandwidth,
    }
    waves = rows / r.sms * 1e-2
    fixed = {
        "kernel": 1.0,
        "rows": waves,
        "rows_root": waves * (cols / 1024.0) ** 0.5,
        "row": cols * 1e-3,
        "ramp": memory / (memory + 1.0),
        "ramp5": memory / (memory + 5.0),
    }
    compute = {"elements": elements / r.vector[dtype]}
    least = uncached(x, moves * elements * size, r)
    return Part(variant, compute, traffic, fixed, (x.log2(rows), x.log2(cols)), least)


def parts(x: Arithmetic, op: str, direction: str, dtype: str, c: Mapping[str, Values], r: Rates, wanted: Wanted) -> list[Part]:
    """Forward moves each element twice, backward three times (the output or input saved, its gradient, the result)."""
    moves = {"forward": (2.0,), "backward": (3.0,), "both": (2.0, 3.0)}[direction]
    return [kernel(x, op, c, times, dtype, r) for times in moves]
