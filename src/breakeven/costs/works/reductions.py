"""Reductions, scans and sorts, softmax and the losses built on it.

Sources: ATen/native/cuda/Reduce.cuh (one launch; blocks that share an output meet through a semaphore), SoftMax.cu (one block per
row), Loss.cu (`nll_loss`), ScanKernels, Sort.cu and TensorTopK.cu (short rows sort in one block; long ones by radix, 8 bits a
pass).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from breakeven.costs.works.pointwise import by_bytes
from breakeven.costs.works.records import PRICED_DTYPES, Operation, Works, item_size, numel, stream, words, work

#: Longest row that one block sorts (ATen/native/cuda/Sort.cu: bitonic to 32, block radix to 4096).
_BLOCK_SORT = 4096


def reduction(op: Operation) -> Works:
    """One kernel that reads all of its input."""
    return (stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype),) if op.size else ()


def two_step(op: Operation) -> Works:
    """Pointwise first, then reduced: norms of differences, std by Welford over both outputs."""
    return (by_bytes(op), *reduction(op))


def log_sum_exp(op: Operation) -> Works:
    """Maximum, shifted exponential sum, logarithm (ATen/native/ReduceOps.cpp `logsumexp_out_impl`): five small kernels."""
    small = max(1, numel(op.outputs[0])) if op.outputs else 1
    return (*reduction(op), by_bytes(op), *reduction(op), stream(8 * small, small, op.compute_dtype, count=2))


def softmax(op: Operation) -> Works:
    """Rows along `dim` (the last one where it was not recorded)."""
    return _softmax(op, "forward")


def softmax_backward(op: Operation) -> Works:
    """Reads gradient and output, writes the gradient."""
    return _softmax(op, "backward")


def _softmax(op: Operation, direction: str) -> Works:
    x = op.inputs[0]
    if not numel(x):
        return ()
    dim = op.attributes.get("dim", -1)
    cols = x[int(dim)] if x and isinstance(dim, int) and -len(x) <= dim < len(x) else (x[-1] if x else 1)
    if op.compute_dtype not in PRICED_DTYPES:
        return (by_bytes(op),)
    return (work("softmax", op.compute_dtype, direction, rows=numel(x) // cols, cols=cols),)


def nll_loss(op: Operation) -> Works:
    """Reads one value per target, not the whole table."""
    targets = numel(op.inputs[1]) if len(op.inputs) > 1 else 1
    return (stream(targets * (8 + item_size(op.compute_dtype)), targets, op.compute_dtype),)


def nll_loss_backward(op: Operation) -> Works:
    """The gradient is zeroed, then one value per target written."""
    size = numel(op.outputs[0]) if op.outputs else op.size
    targets = numel(op.inputs[2]) if len(op.inputs) > 2 else 1
    nbytes = item_size(op.compute_dtype)
    return (stream(size * nbytes, size, op.compute_dtype), stream(targets * (8 + nbytes), targets, op.compute_dtype))


def pointwise_loss(op: Operation) -> Works:
    """mse, l1, huber …: one pointwise kernel, then a reduction unless nothing is reduced."""
    size = max((numel(s) for s in op.inputs), default=0)
    whole = not op.outputs or numel(op.outputs[0]) == size
    first = stream(op.read_bytes + size * item_size(op.compute_dtype), size, op.compute_dtype)
    if whole:
        return (first,)
    return (first, stream(size * item_size(op.compute_dtype), size, op.compute_dtype))


def zeroed_loss_backward(op: Operation) -> Works:
    """mse, smooth l1, huber: the gradient is zeroed (`at::zeros_like` in Loss.cpp), then written."""
    size = max((numel(s) for s in op.inputs), default=0)
    return (stream(size * item_size(op.compute_dtype), size, op.compute_dtype), *reduction(op)) if size else ()


def logits_loss(op: Operation) -> Works:
    """binary_cross_entropy_with_logits: log-sigmoid, 1 - target, product, difference (Loss.cpp), then the reduction."""
    size = max((numel(s) for s in op.inputs), default=0)
    if not size:
        return ()
    nbytes = size * item_size(op.compute_dtype)
    return (
        stream(2 * nbytes, size, op.compute_dtype, count=2),
        stream(3 * nbytes, size, op.compute_dtype, count=2),
        *reduction(op),
    )


def scan(op: Operation) -> Works:
    """cumsum and its kin: read and written once; a single long row takes an initialising launch more (cub)."""
    return (stream(op.read_bytes + op.written_bytes, op.size, op.compute_dtype),)


def sort(op: Operation) -> Works:
    """Short rows: one kernel. Long ones: a radix pass per 8 bits, each reading and writing keys and 8-byte positions."""
    x = op.inputs[0]
    length = _length(op, x)
    width = item_size(op.compute_dtype) + 8
    if length <= _BLOCK_SORT:
        return (stream(2 * numel(x) * width, numel(x), op.compute_dtype),)
    passes = item_size(op.compute_dtype)
    return (stream(2 * numel(x) * width * (passes + 1), numel(x), op.compute_dtype, kernels=passes + 3),)


def topk(op: Operation) -> Works:
    """Radix select reads the row once per 8 bits and once to gather; the chosen of a long row are sorted by another kernel."""
    x = op.inputs[0]
    reads = item_size(op.compute_dtype) + 1
    chosen = numel(op.outputs[0]) if op.outputs else 1
    selected = stream(reads * op.input_bytes(0), numel(x), op.compute_dtype)
    return (selected,) if _length(op, x) <= _BLOCK_SORT else (selected, stream(24 * chosen, chosen, op.compute_dtype))


def unique(op: Operation) -> Works:
    """Sort, then adjacent differences, scan and compaction (ATen/native/cuda/Unique.cu, thrust)."""
    flat = numel(op.inputs[0])
    width = item_size(op.compute_dtype) + 8
    passes = item_size(op.compute_dtype)
    return (stream(2 * flat * width * (passes + 3), flat, op.compute_dtype, kernels=passes + 8),)


def histogram(op: Operation) -> Works:
    """bincount, histc: minimum and maximum first, then one counting kernel."""
    return (*reduction(op), *reduction(op), *reduction(op))


def ctc_loss(op: Operation) -> Works:
    """One kernel per direction that walks the time steps (ATen/native/cuda/LossCTC.cu)."""
    return (stream(3 * (op.read_bytes + op.written_bytes), op.size, op.compute_dtype, kernels=2, spread=2.0),)


def _length(op: Operation, x: Sequence[int]) -> int:
    dim = op.attributes.get("dim", -1)
    if not x:
        return 1
    return x[dim] if isinstance(dim, int) and -len(x) <= dim < len(x) else x[-1]


_ONE_KERNEL = words(
    """
    sum mean prod amax amin max min aminmax _aminmax argmax argmin any all std var std_mean var_mean norm
    linalg_vector_norm nansum count_nonzero median nanmedian mode kthvalue trace is_nonzero equal _is_all_true
    _is_any_true nanmean cummax cummin _cummax_helper _cummin_helper segment_reduce _segment_reduce_backward renorm
    special_logsumexp allclose
    """
)

REDUCTIONS: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(_ONE_KERNEL, reduction),
    "dist": two_step,
    "logsumexp": log_sum_exp,
    **dict.fromkeys(("cumsum", "cumprod", "logcumsumexp", "_logcumsumexp"), scan),
    **dict.fromkeys(("sort", "argsort", "msort"), sort),
    "topk": topk,
    **dict.fromkeys(("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"), unique),
    **dict.fromkeys(("bincount", "histc", "histogram"), histogram),
    **dict.fromkeys(("_softmax", "softmax", "_log_softmax", "log_softmax", "_safe_softmax", "_masked_softmax"), softmax),
    **dict.fromkeys(("_softmax_backward_data", "_log_softmax_backward_data", "_masked_softmax_backward"), softmax_backward),
    **dict.fromkeys(("nll_loss_forward", "nll_loss2d_forward", "nll_loss"), nll_loss),
    **dict.fromkeys(("nll_loss_backward", "nll_loss2d_backward"), nll_loss_backward),
    **dict.fromkeys(
        (
            "mse_loss",
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "binary_cross_entropy",
            "soft_margin_loss",
            "multi_margin_loss",
            "multilabel_margin_loss_forward",
        ),
        pointwise_loss,
    ),
    **dict.fromkeys(
        (
            "l1_loss_backward",
            "binary_cross_entropy_backward",
            "soft_margin_loss_backward",
            "multi_margin_loss_backward",
            "multilabel_margin_loss_backward",
        ),
        reduction,
    ),
    **dict.fromkeys(("mse_loss_backward", "smooth_l1_loss_backward", "huber_loss_backward"), zeroed_loss_backward),
    "binary_cross_entropy_with_logits": logits_loss,
    **dict.fromkeys(("_ctc_loss", "_ctc_loss_backward", "_cudnn_ctc_loss"), ctc_loss),
}
