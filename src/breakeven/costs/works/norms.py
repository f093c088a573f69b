"""Normalisations: rows for layer norm, two passes over the activations for batch, group and instance norm.

Sources: ATen/native/cuda/layer_norm_kernel.cu (backward: one kernel for the input's gradient, one or two for weight and bias),
group_norm_kernel.cu (forward: moments, then scale), cuDNN's spatial persistent batch norm (one kernel each way; training reads
the activations twice: for the moments and for the result; backward reads activations and gradient twice).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from breakeven.costs.works.records import PRICED_DTYPES, Operation, Work, Works, item_size, numel, stream, work


def layer_norm(op: Operation) -> Works:
    """`native_layer_norm`: rows of the normalised dimensions."""
    rows, cols = _rows(op, 0)
    return (_row_work(op, "forward", rows, cols),) if rows * cols else ()


def layer_norm_backward(op: Operation) -> Works:
    """Input's gradient, then the sums for weight and bias."""
    x = 1 if len(op.inputs) > 1 else 0
    rows, cols = _rows(op, x)
    if not rows * cols:
        return ()
    # All three kernels together have one price in the measurements (direction backward, README of the data).
    both = _row_work(op, "backward", rows, cols, kernels=2)
    return (both,)


def _row_work(op: Operation, direction: str, rows: int, cols: int, kernels: int = 1) -> Work:
    if op.compute_dtype in PRICED_DTYPES:
        return work("layernorm", op.compute_dtype, direction, kernels=kernels, rows=rows, cols=cols)
    return stream(op.read_bytes + op.written_bytes, rows * cols, op.compute_dtype, kernels=kernels)


def batch_norm(op: Operation) -> Works:
    """Training: activations read twice, written once. Evaluation: read once."""
    x = op.inputs[0]
    training = bool(op.attributes.get("training", True))
    nbytes = numel(x) * item_size(op.compute_dtype) * (3 if training else 2)
    return (stream(nbytes, numel(x), op.compute_dtype),)


def batch_norm_backward(op: Operation) -> Works:
    """Gradient and activations read twice, gradient written once."""
    x = op.inputs[0]
    return (stream(5 * numel(x) * item_size(op.compute_dtype), numel(x), op.compute_dtype),)


def group_norm(op: Operation) -> Works:
    """Moments, per-channel factors, then the result: activations read twice, written once."""
    x = op.inputs[0]
    nbytes = numel(x) * item_size(op.compute_dtype)
    small = max(1, numel(x[:2])) if len(x) > 1 else 1
    return (
        stream(nbytes, numel(x), op.compute_dtype),
        stream(small * 8, small, op.compute_dtype),
        stream(2 * nbytes, numel(x), op.compute_dtype),
    )


def group_norm_backward(op: Operation) -> Works:
    """Sums per channel, factors, the input's gradient, weight and bias."""
    x = op.inputs[0]
    nbytes = numel(x) * item_size(op.compute_dtype)
    small = max(1, numel(x[:2])) if len(x) > 1 else 1
    return (
        stream(2 * nbytes, numel(x), op.compute_dtype),
        stream(small * 8, small, op.compute_dtype, count=2),
        stream(3 * nbytes, numel(x), op.compute_dtype),
    )


def weight_norm(op: Operation) -> Works:
    """`_weight_norm_interface`: one kernel that reads the weight twice."""
    return (stream(op.input_bytes(0) + op.read_bytes + op.written_bytes, op.size, op.compute_dtype),)


def batch_norm_evaluated(op: Operation) -> Works:
    """Running statistics: activations read once, written once."""
    x = op.inputs[0]
    return (stream(2 * numel(x) * item_size(op.compute_dtype), numel(x), op.compute_dtype),)


def _rows(op: Operation, x_at: int) -> tuple[int, int]:
    x = op.inputs[x_at]
    shape = op.attributes.get("normalized_shape")
    if isinstance(shape, Sequence) and shape:
        cols = numel(int(d) for d in shape)
    else:  # the weight's shape, the last of the inputs that the activations end with
        ends = [s for i, s in enumerate(op.inputs) if i != x_at and s and len(s) < len(x) and x[-len(s) :] == s]
        cols = numel(ends[0]) if ends else (x[-1] if x else 1)
    return numel(x) // max(1, cols), cols


NORMS: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(("native_layer_norm", "layer_norm", "rms_norm", "_fused_rms_norm"), layer_norm),
    **dict.fromkeys(("native_layer_norm_backward", "_fused_rms_norm_backward"), layer_norm_backward),
    **dict.fromkeys(
        (
            "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_native_batch_norm_legit", "_batch_norm_with_update",
            "_batch_norm_no_update", "_native_batch_norm_legit_functional", "instance_norm", "_batch_norm_impl_index",
        ),
        batch_norm,
    ),
    "_native_batch_norm_legit_no_training": batch_norm_evaluated,
    **dict.fromkeys(
        ("native_batch_norm_backward", "cudnn_batch_norm_backward", "miopen_batch_norm_backward", "batch_norm_backward"),
        batch_norm_backward,
    ),
    **dict.fromkeys(("batch_norm_stats", "batch_norm_gather_stats_with_counts", "batch_norm_elemt"), batch_norm_evaluated),
    **dict.fromkeys(("batch_norm_backward_reduce", "batch_norm_backward_elemt"), batch_norm_backward),
    "native_group_norm": group_norm,
    "native_group_norm_backward": group_norm_backward,
    "_weight_norm_interface": weight_norm,
    "_weight_norm_interface_backward": weight_norm,
}  # fmt: skip
