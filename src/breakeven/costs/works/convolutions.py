"""Convolutions: one cuDNN call per direction, brought into `conv2d`'s columns (n c h w k r s, padding, stride).

One dimension is a height of 1; three fold the depth into images and channels (the same products); groups fold into images;
a transposed forward is the gradient of the inputs of the convolution that it transposes. A depthwise one reads and writes.
Sources: aten/src/ATen/native/Convolution.cpp (`_convolution`: bias added by a kernel of its own behind cuDNN;
`convolution_backward`: bias gradient by `sum`), ATen/native/cudnn/ConvShared.cpp; TF32 is on by default for cuDNN
(`torch.backends.cudnn.allow_tf32`, PyTorch documentation, "TensorFloat-32 on Ampere devices").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from breakeven.costs.works.records import Operation, Shape, Work, Works, item_size, numel, stream, work

#: Launches of one cuDNN convolution: the product, and changes of layout before and behind it. Means of 1,089 forward calls (2.9)
#: and 1,077 backward ones of two directions (3.1 each) in the traces rtx2080ti_resnet_30iter, a100_ddp_3steps and
#: resnet50_workers4.
_CUDNN_KERNELS = 3


@dataclass(frozen=True)
class _Geometry:
    """A plain two-dimensional convolution, groups folded into its images."""

    sizes: tuple[tuple[str, int], ...]
    depthwise: bool
    transposed: bool


def convolution(op: Operation) -> Works:
    """Forward, and a bias by a kernel of its own."""
    x, weight = op.inputs[:2]
    geometry = _geometry(op, x, weight, op.outputs[0])
    works = [_kernel(op, geometry, "backward_inputs" if geometry.transposed else "forward", (x, weight, op.outputs[0]))]
    if len(op.inputs) > 2:
        works.append(stream(2 * op.written_bytes, numel(op.outputs[0]), op.compute_dtype))
    return tuple(works)


def convolution_backward(op: Operation) -> Works:
    """Gradients of input, weight and bias as `output_mask` asks (all that came out, where it was not recorded)."""
    grad, x, weight = op.inputs[:3]
    geometry = _geometry(op, x, weight, grad)
    for_input, for_weight, for_bias = _mask(op, x, weight)
    works = []
    if for_input:
        works.append(_kernel(op, geometry, "forward" if geometry.transposed else "backward_inputs", (x, weight, grad)))
    if for_weight:
        works.append(_kernel(op, geometry, "backward_params", (x, weight, grad)))
    if for_bias:
        works.append(stream(op.input_bytes(0), numel(grad), op.compute_dtype))
    return tuple(works)


def convolution_dtype(op: Operation) -> str:
    """TF32 unless the recording says that cuDNN may not."""
    return "tf32" if op.compute_dtype == "float32" and op.attributes.get("allow_tf32", True) else op.compute_dtype


def _kernel(op: Operation, geometry: _Geometry, direction: str, tensors: tuple[Shape, Shape, Shape]) -> Work:
    if geometry.depthwise:
        nbytes = sum(numel(t) for t in tensors) * item_size(op.compute_dtype)
        return stream(nbytes, numel(tensors[2]), op.compute_dtype)
    return work("conv2d", convolution_dtype(op), direction, kernels=_CUDNN_KERNELS, **dict(geometry.sizes))


def _mask(op: Operation, x: Shape, weight: Shape) -> tuple[bool, bool, bool]:
    mask = op.attributes.get("output_mask")
    if isinstance(mask, Sequence) and len(mask) == 3:
        return bool(mask[0]), bool(mask[1]), bool(mask[2])
    return x in op.outputs, weight in op.outputs, any(len(shape) == 1 for shape in op.outputs)


def _geometry(op: Operation, x: Shape, weight: Shape, y: Shape) -> _Geometry:
    """The convolution from its input to its output; a transposed one is turned round."""
    transposed = bool(op.attributes.get("transposed", False))
    groups = int(op.attributes.get("groups", 0)) or _groups(x, weight, transposed)
    if transposed:
        x, y = y, x
    spatial = len(x) - 2
    stride = _per_axis(op, "stride", spatial, None) or _guessed_stride(x, y)
    dilation = _per_axis(op, "dilation", spatial, 1) or [1] * spatial
    filters = list(weight[2:])
    padding = _per_axis(op, "padding", spatial, None) or [
        max(0, ((out - 1) * by + apart * (size - 1) + 1 - at + 1) // 2)
        for at, out, by, size, apart in zip(x[2:], y[2:], stride, filters, dilation, strict=True)
    ]
    # A dilated filter does the arithmetic of a dense one on the same output: the input is shrunk to what that needs.
    image = [
        at if apart == 1 else max(1, (out - 1) * by + size - 2 * pad)
        for at, out, by, size, apart, pad in zip(x[2:], y[2:], stride, filters, dilation, padding, strict=True)
    ]
    n, c, k = x[0] * groups, max(1, x[1] // groups), max(1, y[1] // groups)
    if spatial == 1:
        image, filters, stride, padding = [1, *image], [1, *filters], [1, *stride], [0, *padding]
    elif spatial == 3:
        n, c = n * y[2], c * filters[0]
        image, filters, stride, padding = image[1:], filters[1:], stride[1:], padding[1:]
    sizes = {
        "n": n, "c": c, "h": image[0], "w": image[1], "k": k, "r": filters[0], "s": filters[1],
        "pad_h": padding[0], "pad_w": padding[1], "stride_h": stride[0], "stride_w": stride[1],
    }  # fmt: skip
    return _Geometry(tuple(sizes.items()), depthwise=groups > 1 and c == 1, transposed=transposed)


def _groups(x: Shape, weight: Shape, transposed: bool) -> int:
    return 1 if transposed else max(1, x[1] // max(1, weight[1]))


def _per_axis(op: Operation, key: str, spatial: int, default: int | None) -> list[int] | None:
    value = op.attributes.get(key)
    if isinstance(value, int):
        return [value] * spatial
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        numbers = [int(v) for v in value]
        return numbers[-spatial:] if len(numbers) >= spatial else numbers * spatial
    return None if default is None else [default] * spatial


def _guessed_stride(x: Shape, y: Shape) -> list[int]:
    return [max(1, round(a / b)) for a, b in zip(x[2:], y[2:], strict=True)]


CONVOLUTIONS: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(
        (
            "convolution",
            "_convolution",
            "cudnn_convolution",
            "cudnn_convolution_transpose",
            "cudnn_convolution_relu",
            "cudnn_convolution_add_relu",
            "slow_conv_transpose2d",
            "slow_conv_transpose3d",
            "miopen_convolution",
            "conv1d",
            "conv2d",
            "conv3d",
            "_conv_depthwise2d",
            "conv_depthwise3d",
            "slow_conv3d_forward",
            "mkldnn_convolution",
            "convolution_overrideable",
            "thnn_conv2d",
            "slow_conv_dilated2d",
            "slow_conv_dilated3d",
        ),
        convolution,
    ),
    **dict.fromkeys(
        ("convolution_backward", "convolution_backward_overrideable", "cudnn_convolution_backward"), convolution_backward
    ),
}
