"""Pooling, resampling and padding of images: each pixel in and each pixel out moved once; indices take 8 bytes.

Sources: ATen/native/cuda/DilatedMaxPool2d.cu (indices are int64; backward zeroes the gradient, then adds), AveragePool2d.cu,
AdaptiveAveragePooling.cu, UpSample*.cu, GridSampler.cu (backward zeroes the input's gradient, then adds atomically).
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.pointwise import by_bytes
from breakeven.costs.works.records import Operation, Works, item_size, numel, stream, words


def pooled(op: Operation) -> Works:
    """Read once, written once."""
    return (by_bytes(op),) if op.size else ()


def max_pooled(op: Operation) -> Works:
    """Written with the position of each maximum."""
    out = numel(op.outputs[0]) if op.outputs else op.size
    return (stream(op.input_bytes(0) + out * (item_size(op.compute_dtype) + 8), out, op.compute_dtype),)


def spread_back(op: Operation) -> Works:
    """Backward that adds into a zeroed gradient."""
    out = max((numel(s) for s in op.outputs), default=op.size)
    nbytes = out * item_size(op.compute_dtype)
    return (stream(nbytes, out, op.compute_dtype), stream(op.input_bytes(0) + op.read_bytes + nbytes, out, op.compute_dtype))


_FORWARD = words(
    """
    avg_pool1d avg_pool2d avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d
    _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_bicubic2d
    upsample_trilinear3d _upsample_bilinear2d_aa _upsample_bicubic2d_aa reflection_pad1d reflection_pad2d reflection_pad3d
    replication_pad1d replication_pad2d replication_pad3d max_unpool2d max_unpool3d grid_sampler_2d grid_sampler_3d
    cudnn_grid_sampler cudnn_affine_grid_generator max_pool2d
    """
)

_MAXIMA = words(
    """
    max_pool2d_with_indices max_pool3d_with_indices adaptive_max_pool2d adaptive_max_pool3d fractional_max_pool2d
    fractional_max_pool3d
    """
)

IMAGES: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(_FORWARD, pooled),
    **dict.fromkeys(_MAXIMA, max_pooled),
    **{f"{name}_backward": spread_back for name in (*_FORWARD, *_MAXIMA)},
}
