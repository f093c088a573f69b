"""Automatic mixed precision: products, convolutions and recurrent layers in half precision, as `autocast` runs them."""

from __future__ import annotations

from dataclasses import replace

from breakeven.timeline import OpStream, edit, schema
from breakeven.timeline.opstream import Call

#: Operations that `autocast('cuda')` runs in half precision (PyTorch's documentation, "CUDA Ops that can autocast to float16").
_LOWERED = (
    "addmm", "mm", "bmm", "baddbmm", "addbmm", "addmv", "mv", "matmul", "linear", "convolution", "_convolution", "conv1d",
    "conv2d", "conv3d", "cudnn_convolution", "convolution_backward", "linear_backward", "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention", "scaled_dot_product_attention",
)  # fmt: skip


def half_precision(stream: OpStream, dtype: str = "float16") -> OpStream:
    """The stream with the operations that autocast lowers in half precision.

    The casts that autocast adds (one small kernel for each weight and activation) are not in it, nor gradient scaling.
    """
    return edit.with_calls(stream, [_lowered(call, dtype) for call in edit.calls_of(stream)])


def _lowered(call: Call, dtype: str) -> Call:
    name = call.op.removeprefix("aten::").removesuffix("_")
    lowers = name in _LOWERED or call.op.startswith("cudnn::")
    if not lowers or call.kind != schema.Kind.COMPUTE or call.dtype not in ("float32", "tf32"):
        return call
    dtypes = tuple(dtype if given == "float32" else given for given in call.input_dtypes)
    return replace(call, dtype=dtype, input_dtypes=dtypes)
