"""Gathers, scatters, embeddings and what finds positions: priced by what they touch, not by the whole table.

Sources: ATen/native/cuda/Embedding.cu (`embedding_dense_backward_cuda`: up to 3072 indices in one kernel, else sort and segmented
sums), Indexing.cu (`index_put_with_sort_kernel`), Nonzero.cu (cub count, the count read back, cub select).
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.records import Operation, Works, item_size, numel, stream

#: Embedding.cu: `if (num_indices <= 3072 && !scale_grad_by_freq)` one feature kernel does it all.
_FEATURE_KERNEL_INDICES = 3072
#: Launches of a cub radix sort of 64-bit keys limited to the table's bits, with positions: histogram, scan, about four passes.
_SORT_KERNELS = 6


def gather(op: Operation) -> Works:
    """index, index_select, gather, take, embedding: reads the positions and as much of the table as it writes."""
    if not op.written_bytes:
        return ()
    positions = sum(numel(s) * 8 for s in op.inputs[1:])
    size = numel(op.outputs[0]) if op.outputs else op.size
    return (stream(2 * op.written_bytes + positions, size, op.compute_dtype),)


def scatter(op: Operation) -> Works:
    """scatter_, index_add_, index_copy_ …: reads positions and source, reads and writes what they touch.

    Out of place the whole destination is copied first.
    """
    touched = sum(op.input_bytes(i) for i in range(1, len(op.inputs)))
    size = max((numel(s) for s in op.inputs[1:]), default=op.size)
    works = (stream(2 * touched, size, op.compute_dtype),)
    if op.name.endswith("_") or not op.outputs:
        return works
    return (stream(2 * op.written_bytes, numel(op.outputs[0]), op.compute_dtype), *works)


def index_put(op: Operation) -> Works:
    """Accumulating sorts the positions so that sums are deterministic; plain writes scatter."""
    if not op.attributes.get("accumulate"):
        return scatter(op)
    indices = numel(op.inputs[1]) if len(op.inputs) > 1 else 1
    values = op.input_bytes(len(op.inputs) - 1)
    return (
        stream(_SORT_KERNELS * 2 * 16 * indices, indices, "int64", kernels=_SORT_KERNELS + 4),
        stream(3 * values, max(1, values // item_size(op.compute_dtype)), op.compute_dtype),
    )


def embedding_backward(op: Operation) -> Works:
    """Zeroes the table's gradient, then adds each row: in one kernel, or by sorted segments."""
    rows = numel(op.inputs[1]) if len(op.inputs) > 1 else 1
    table = numel(op.outputs[0]) if op.outputs else op.size
    width = item_size(op.compute_dtype)
    grad = op.input_bytes(0)
    zeroed = stream(table * width, table, op.compute_dtype)
    added = stream(3 * grad + 8 * rows, max(1, grad // width), op.compute_dtype)
    if rows <= _FEATURE_KERNEL_INDICES:
        return (zeroed, added)
    return (zeroed, stream(_SORT_KERNELS * 2 * 16 * rows, rows, "int64", kernels=_SORT_KERNELS + 6), added)


def embedding_bag(op: Operation) -> Works:
    """Reads the rows that its indices name, writes one sum per bag; offsets are turned into bag numbers first."""
    dim = op.inputs[0][-1] if op.inputs and op.inputs[0] else 1
    rows = numel(op.inputs[1]) if len(op.inputs) > 1 else 1
    nbytes = rows * (dim * item_size(op.compute_dtype) + 8) + (
        numel(op.outputs[0]) * item_size(op.compute_dtype) if op.outputs else 0
    )
    return (stream(nbytes, rows * dim, op.compute_dtype), stream(16 * rows, rows, "int64"))


def nonzero(op: Operation) -> Works:
    """Count, then select (the host reads the count in between: a row of its own)."""
    return (
        stream(op.read_bytes, op.size, op.compute_dtype, kernels=2),
        stream(op.read_bytes + numel(op.outputs[0] if op.outputs else ()) * 8, op.size, op.compute_dtype, kernels=3),
    )


def masked_select(op: Operation) -> Works:
    """Scan of the mask, then a compacting copy."""
    return (
        stream(op.read_bytes, op.size, op.compute_dtype, kernels=2),
        stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype),
    )


def search(op: Operation) -> Works:
    """searchsorted, bucketize, isin: each value walks a tree that stays in cache."""
    return (stream(2 * op.read_bytes + op.written_bytes, op.size, op.compute_dtype),)


INDEXING: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(
        (
            "index",
            "_unsafe_index",
            "_unsafe_masked_index",
            "index_select",
            "gather",
            "take",
            "take_along_dim",
            "embedding",
            "one_hot",
        ),
        gather,
    ),
    **dict.fromkeys(
        (
            "scatter",
            "scatter_add",
            "scatter_reduce",
            "index_add",
            "index_copy",
            "index_fill",
            "index_reduce",
            "masked_scatter",
            "put",
            "embedding_renorm",
            "masked_scatter_backward",
            "_unsafe_masked_index_put_accumulate",
        ),
        scatter,
    ),
    **dict.fromkeys(("index_put", "_index_put_impl", "_unsafe_index_put"), index_put),
    "embedding_dense_backward": embedding_backward,
    **dict.fromkeys(("_embedding_bag", "_embedding_bag_forward_only", "embedding_bag"), embedding_bag),
    **dict.fromkeys(
        ("_embedding_bag_backward", "_embedding_bag_dense_backward", "_embedding_bag_per_sample_weights_backward"),
        embedding_backward,
    ),
    **dict.fromkeys(("nonzero", "nonzero_static", "argwhere", "nonzero_numpy"), nonzero),
    "masked_select": masked_select,
    **dict.fromkeys(("searchsorted", "bucketize", "isin"), search),
}
