"""Units as types: whole nanoseconds, bytes, floating-point operations. What a bare int cannot say, these names do."""

from __future__ import annotations

from typing import NewType

Ns = NewType("Ns", int)
Bytes = NewType("Bytes", int)
Flops = NewType("Flops", int)

NS_PER_US = 1_000
NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000

#: Bytes of one element, by the dtype names that the tables use (PyTorch's, without the `torch.`).
ITEM_SIZE: dict[str, int] = {
    "float64": 8, "float32": 4, "tf32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "complex64": 8, "complex128": 16, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
