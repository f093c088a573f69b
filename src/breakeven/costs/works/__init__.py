"""From a call of the host's to the kernels that CUDA runs for it, in the vocabulary of `breakeven predict`.

One small function per family of operations and one explicit entry per ATen operation; what has no entry is priced by the bytes of
its inputs and outputs and named, so that a report can say so.
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.attention import ATTENTION
from breakeven.costs.works.convolutions import CONVOLUTIONS
from breakeven.costs.works.dense_algebra import ALGEBRA
from breakeven.costs.works.free import FREE
from breakeven.costs.works.images import IMAGES
from breakeven.costs.works.indexing import INDEXING
from breakeven.costs.works.movement import DEVICE_COPIES, MOVEMENT
from breakeven.costs.works.multi_tensor import MULTI_TENSOR
from breakeven.costs.works.norms import NORMS
from breakeven.costs.works.pointwise import POINTWISE, by_bytes
from breakeven.costs.works.products import PRODUCTS
from breakeven.costs.works.records import Operation, Work, Works
from breakeven.costs.works.recurrent import CELLS, RECURRENT
from breakeven.costs.works.reductions import REDUCTIONS

__all__ = ["Operation", "Work", "Works", "is_free", "works"]

Family = Callable[[Operation], Works]

#: Every table; no name is in two (a test holds it).
TABLES: tuple[dict[str, Family], ...] = (
    PRODUCTS, CONVOLUTIONS, CELLS, NORMS, REDUCTIONS, INDEXING, MOVEMENT, IMAGES, ATTENTION, MULTI_TENSOR, ALGEBRA, POINTWISE,
)  # fmt: skip

_ENTRIES: dict[str, Family] = {name: family for table in TABLES for name, family in table.items()}


def works(op: Operation) -> tuple[Works, bool]:
    """Kernels that a call runs on the device, and whether the operation has an entry.

    An entry that the recorded shapes do not fit (an overload that it does not know) falls back to bytes, too.

    >>> works(Operation("aten::mm", inputs=((2, 3), (3, 4)), outputs=((2, 4),)))[0][0].op
    'gemm'
    """
    if is_free(op.name):
        return (), True
    family = _family(op.name)
    if family is None:
        return ((by_bytes(op),) if op.size else ()), False
    try:
        return family(op), True
    except (IndexError, ValueError, TypeError):
        return ((by_bytes(op),) if op.size else ()), False


def is_free(name: str) -> bool:
    """Whether an operation runs no kernel: a view, an allocation, a question, a wait, host work.

    >>> is_free("aten::view"), is_free("aten::zeros")
    (True, False)
    """
    prefix, _, bare = name.rpartition("::")
    return prefix in ("sync", "host") or bare in FREE


def _family(name: str) -> Family | None:
    if name in RECURRENT:
        return RECURRENT[name]
    if name in DEVICE_COPIES:
        return DEVICE_COPIES[name]
    bare = name.removeprefix("aten::").split(".")[0]
    return _ENTRIES.get(bare) or _ENTRIES.get(bare.removesuffix("_"))
