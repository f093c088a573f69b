"""What goes in and out of `works`: one call of the host's, and the kernels that it runs on a device.

Knows shapes and dtypes, no strides: whether an operand was contiguous is not recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from breakeven.units import ITEM_SIZE

Shape = tuple[int, ...]

#: Floating dtypes that `breakeven predict` prices (INTERFACE.md); pointwise work on others is priced by its bytes.
PRICED_DTYPES = frozenset({"float64", "float32", "tf32", "float16", "bfloat16"})


#: Operations whose result is one byte an element.
_BOOLEAN = frozenset(
    {
        "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_not", "logical_xor", "isnan", "isinf", "isin",
        "any", "all",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """One call of the host's, as `schema.CALLS` describes it.

    Attributes:
        name: operation without its namespace's overloads, such as `aten::addmm`.
        inputs: shapes of its tensor inputs, flattened out of lists.
        input_dtypes: dtype of each, without `torch.`; may be shorter than `inputs` (then `dtype` stands in).
        outputs: shapes of its tensor outputs.
        dtype: dtype that it computes in.
        attributes: what shapes do not say (decoded JSON).
    """

    name: str
    inputs: tuple[Shape, ...] = ()
    input_dtypes: tuple[str, ...] = ()
    outputs: tuple[Shape, ...] = ()
    dtype: str = "float32"
    attributes: Mapping[str, Any] = field(default_factory=dict)  # JSON values

    @property
    def compute_dtype(self) -> str:
        """Dtype that it computes in, `float32` where the recording does not say."""
        return self.dtype or "float32"

    def input_bytes(self, at: int) -> int:
        """Bytes of one input, each element once."""
        return numel(self.inputs[at]) * item_size(self._dtype_of(at))

    @property
    def read_bytes(self) -> int:
        """Bytes of all inputs, each element once (a broadcast operand is read from cache the other times)."""
        return sum(self.input_bytes(i) for i in range(len(self.inputs)))

    @property
    def written_bytes(self) -> int:
        """Bytes of all outputs; an in-place call without recorded outputs writes its first input."""
        if self.outputs:
            return sum(numel(shape) for shape in self.outputs) * item_size(self.output_dtype)
        return self.input_bytes(0) if self.name.endswith("_") and self.inputs else 0

    @property
    def output_dtype(self) -> str:
        """Dtype of its outputs: attribute `dtype` where recorded, bool for comparisons, else what it computes in."""
        if self.attributes.get("dtype"):
            return str(self.attributes["dtype"]).removeprefix("torch.")
        return "bool" if self.name.removeprefix("aten::").removesuffix("_") in _BOOLEAN else self.compute_dtype

    @property
    def size(self) -> int:
        """Elements of its largest tensor."""
        return max((numel(shape) for shape in (*self.inputs, *self.outputs)), default=0)

    def _dtype_of(self, at: int) -> str:
        return self.input_dtypes[at] if at < len(self.input_dtypes) else self.compute_dtype


@dataclass(frozen=True)
class Work:
    """Kernels that a call runs, as one row of the table that `costs.price.price` takes.

    Attributes:
        op: operation of `breakeven predict`, or `stream`: memory-bound work given by `bytes` and `elements`.
        sizes: the row's columns by name.
        dtype: dtype of the arithmetic.
        direction: forward, backward, backward_inputs or backward_params.
        kernels: launches that one such row stands for.
        count: how many such rows run one after another.
        spread: factor by which its interval is widened where only its arithmetic is known (1: as priced).
    """

    op: str
    sizes: tuple[tuple[str, int], ...]
    dtype: str = "float32"
    direction: str = "forward"
    kernels: int = 1
    count: int = 1
    spread: float = 1.0

    def size(self, column: str, default: int = 1) -> int:
        """One of the row's columns."""
        return dict(self.sizes).get(column, default)


Works = tuple[Work, ...]


def work(
    op: str,
    dtype: str = "float32",
    direction: str = "forward",
    *,
    kernels: int = 1,
    count: int = 1,
    spread: float = 1.0,
    **sizes: int,
) -> Work:
    """A `Work` with its columns as keywords.

    >>> work("gemm", m=2, n=3, k=4).size("k")
    4
    """
    return Work(op, tuple(sorted(sizes.items())), dtype, direction, kernels, count, spread)


def stream(nbytes: int, elements: int, dtype: str = "float32", *, kernels: int = 1, count: int = 1, spread: float = 1.0) -> Work:
    """Memory-bound work: `nbytes` moved by about `elements` threads; `kernels` launches share the bytes."""
    return work(
        "stream", dtype, kernels=1, count=count * kernels, spread=spread,
        bytes=max(1, -(-nbytes // kernels)), elements=max(1, -(-elements // kernels)),
    )  # fmt: skip


def numel(shape: Iterable[int]) -> int:
    """Elements of a shape (1 for a scalar)."""
    return prod(shape)


def item_size(dtype: str) -> int:
    """Bytes of one element; 4 for a dtype that has no entry."""
    return ITEM_SIZE.get(dtype, 4)


def words(text: str) -> tuple[str, ...]:
    """Names of a table that is written as plain text.

    >>> words("abs acos")
    ('abs', 'acos')
    """
    return tuple(text.split())
