"""Very large products that are computed again from the very same operands: the result is copied, not computed a second time.

Safe, because it is exact: the operands are the same storages, the same views, and nothing has been written anywhere since: any
operation that writes empties the memory, and torch counts the writes to a tensor besides. Time measurements repeat a product
like that; a training step, whose weights change, never does. Writes that torch does not see (through a shared NumPy array)
cannot reach a tensor on the virtual GPU, which is a copy; where it is not (a lifted script), nothing is remembered.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from breakeven.capture.virtual import marks
from breakeven.capture.virtual.plans import Plan

#: Products, with the positions of their factors.
PRODUCTS: Final = {"aten::mm": (0, 1), "aten::bmm": (0, 1), "aten::addmm": (1, 2), "aten::mv": (0, 1)}
#: Operations (multiply and add) from which a product takes about a second on two cores of a common CPU (some 10^11 per second).
LARGE: Final = 5 * 10**10

_Key = tuple[Any, ...]  # Any: storages, shapes, strides, versions


class Budget:
    """The last large product and its result."""

    def __init__(self) -> None:
        self._key: _Key | None = None
        self._result: torch.Tensor | None = None
        self._spent = 0
        self._held: list[Any] = []  # storages by weak reference (Any: torch leaves them without annotations)

    @property
    def is_full(self) -> bool:
        """Whether it holds a product."""
        return self._key is not None

    def find(self, plan: Plan, args: Any) -> tuple[torch.Tensor, int] | None:  # Any: any operation
        """A copy of the result, and the time that computing it took, where the same product was the last large one."""
        if self._result is None or not is_large(plan, args) or _key(plan, args) != self._key:
            return None
        return self._result.clone(), self._spent

    def keep(self, plan: Plan, args: Any, out: Any, spent: int) -> None:  # Any: any operation
        """Remember a large product."""
        if not is_large(plan, args) or not isinstance(out, torch.Tensor):
            return
        self.clear()
        self._key, self._result, self._spent = _key(plan, args), out.clone(), spent
        for tensor in args:
            if isinstance(tensor, torch.Tensor):  # keeps the storage's address from being used again, not its data
                storage: Any = tensor.untyped_storage()  # Any: as above
                self._held.append(storage._weak_ref())

    def clear(self) -> None:
        """Forget it."""
        free: Any = torch.UntypedStorage._free_weak_ref  # Any: as above
        for held in self._held:
            free(held)
        self._held.clear()
        self._key = self._result = None


def is_large(plan: Plan, args: Any) -> bool:  # Any: any operation
    """Whether this product would take about a second or more."""
    at = PRODUCTS.get(plan.name)
    if at is None:
        return False
    one, other = args[at[0]], args[at[1]]
    columns = other.shape[-1] if other.dim() > 1 else 1
    return bool(2 * one.numel() * columns >= LARGE)


def _key(plan: Plan, args: Any) -> _Key:  # Any: any operation
    found: list[Any] = [plan.name]  # Any: as above
    for arg in args:
        if isinstance(arg, torch.Tensor):
            version = -1 if arg.is_inference() else arg._version
            found += [marks.storage_key(arg), arg.storage_offset(), arg.shape, arg.stride(), arg.dtype, version]
        else:
            found.append(arg)
    return tuple(found) if -1 not in found else (object(),)
