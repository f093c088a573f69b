"""Which storages are logically on the GPU: a weak side table keyed by the address of the storage.

A weak reference keeps the address (not the data) of a dead storage from being used again while its mark stands, so an address
always means the storage that was marked. Expired marks are purged now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch

CUDA: Final = 1  # on cuda:0
PARAMETER: Final = 2  # a parameter or a buffer of a module, or a view of one
HALF: Final = 4  # would hold float16 under autocast (its values stay float32 here)
BFLOAT16: Final = 8  # would hold bfloat16 under autocast
PINNED: Final = 16  # page-locked host memory
MOVED: Final = 32  # on cuda because the recording moved it (a lifted script), not because the script asked

_storage: Callable[[torch.Tensor], Any] = torch._C.TensorBase.untyped_storage  # Any: torch leaves storages without annotations
_revive: Callable[[int], Any] = torch.UntypedStorage._new_with_weak_ptr  # Any: as above
_expired: Callable[[int], Any] = torch.UntypedStorage._expired  # Any: as above
_free: Callable[[int], Any] = torch.UntypedStorage._free_weak_ref  # Any: as above


class Marks:
    """The table. `flags` is read directly where every nanosecond counts."""

    def __init__(self) -> None:
        self.flags: dict[int, int] = {}
        self.purge_at = 8192

    def of(self, tensor: torch.Tensor) -> int:
        """Marks of a tensor's storage; 0 where it has none."""
        key = storage_key(tensor)
        return 0 if key is None else self.flags.get(key, 0)

    def add(self, tensor: torch.Tensor, marks: int) -> None:
        """Set these marks on top of what the storage has."""
        key = storage_key(tensor)
        if key is not None:
            self.put(key, self.flags.get(key, 0) | marks, tensor)

    def drop(self, tensor: torch.Tensor, marks: int) -> None:
        """Take these marks off."""
        key = storage_key(tensor)
        if key is not None and key in self.flags:
            self.flags[key] &= ~marks

    def put(self, key: int, marks: int, tensor: torch.Tensor) -> None:
        """Set the marks of the storage at `key`, which is that of `tensor`."""
        flags = self.flags
        if key not in flags:
            _storage(_bare(tensor))._weak_ref()
            if len(flags) >= self.purge_at:
                self.purge()
        flags[key] = marks

    def add_storage(self, storage: Any, marks: int) -> None:
        """Set marks on a storage that no tensor shows yet (Any: torch leaves storages without annotations)."""
        key = storage._cdata
        if key not in self.flags:
            storage._weak_ref()
        self.flags[key] = self.flags.get(key, 0) | marks

    def purge(self) -> None:
        """Forget storages that no longer exist."""
        dead = [key for key in self.flags if _expired(key)]
        for key in dead:
            del self.flags[key]
            _free(key)
        self.purge_at = max(8192, 2 * len(self.flags))

    def live_bytes(self) -> int:
        """Bytes of all storages on cuda that are alive."""
        total = 0
        for key in [k for k, marks in self.flags.items() if marks & CUDA]:
            storage = _revive(key)
            if storage is not None:
                total += storage.nbytes()
        return total

    def clear(self) -> None:
        """Forget everything and let every address go."""
        for key in self.flags:
            _free(key)
        self.flags.clear()


def storage_key(tensor: torch.Tensor) -> int | None:
    """Address of the storage behind a tensor, through functorch's wrappers and into a sparse tensor's values."""
    try:
        key: int = _storage(tensor)._cdata
    except (NotImplementedError, RuntimeError):
        bare = _bare(tensor)
        if not _has_storage(bare):
            return None
        key = _storage(bare)._cdata
    return key


def _has_storage(tensor: torch.Tensor) -> bool:
    return bool(torch._C._has_storage(tensor))


def _bare(tensor: torch.Tensor) -> torch.Tensor:
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(tensor):
        tensor = functorch.get_unwrapped(tensor)
    if not _has_storage(tensor) and tensor.layout is torch.sparse_coo:
        return tensor._values()
    if not _has_storage(tensor) and tensor.layout is torch.sparse_csr:
        return tensor.values()
    return tensor
