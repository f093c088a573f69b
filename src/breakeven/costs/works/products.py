"""Matrix products: one cuBLAS call each (ATen/native/cuda/Blas.cpp), in the row-major form that `predict` takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from breakeven.costs.works.records import Operation, Work, Works, numel, stream, work


def _product(op: Operation, left: tuple[int, ...], right: tuple[int, ...], name: str = "gemm") -> Work:
    (m, k), n = left[-2:], right[-1]
    sizes = {"m": m, "n": n, "k": k} | {key: 1 for key in ("trans_a", "trans_b") if op.attributes.get(key)}
    if name == "bmm":
        sizes["b"] = numel(left[:-2])
    return Work(name, tuple(sorted(sizes.items())), product_dtype(op))


def product_dtype(op: Operation) -> str:
    """`tf32` where the recording says that float32 products may use it (`torch.backends.cuda.matmul.allow_tf32`)."""
    return "tf32" if op.compute_dtype == "float32" and op.attributes.get("allow_tf32") else op.compute_dtype


def mm(op: Operation) -> Works:
    """(m, k)(k, n)."""
    return (_product(op, op.inputs[0], op.inputs[1]),)


def addmm(op: Operation) -> Works:
    """A bias of one dimension goes into the product's epilogue (`gemm_and_bias`, cuBLASLt); a matrix is copied first."""
    bias, left, right = op.inputs[:3]
    product = _product(op, left, right)
    if len([d for d in bias if d != 1]) <= 1:
        return (replace(product, op="linear"),)
    return (stream(2 * op.written_bytes, product.size("m") * product.size("n"), op.compute_dtype), product)


def bmm(op: Operation) -> Works:
    """(b, m, k)(b, k, n)."""
    return (_product(op, op.inputs[0], op.inputs[1], "bmm"),)


def baddbmm(op: Operation) -> Works:
    """The addend is copied into the result, then accumulated upon."""
    _, left, right = op.inputs[:3]
    product = _product(op, left, right, "bmm")
    elements = product.size("b") * product.size("m") * product.size("n")
    return (stream(2 * op.written_bytes, elements, op.compute_dtype), product)


def addbmm(op: Operation) -> Works:
    """A batch of products summed: one product at a time, each accumulated upon the last."""
    _, left, right = op.inputs[:3]
    one = work("gemm", op.compute_dtype, count=left[0], m=left[1], k=left[2], n=right[2])
    return (one,)


def mv(op: Operation) -> Works:
    """Matrix times vector."""
    matrix = op.inputs[0]
    return (work("gemm", op.compute_dtype, m=matrix[0], k=matrix[1], n=1),)


def addmv(op: Operation) -> Works:
    """The addend is copied, then the product accumulates upon it."""
    matrix = op.inputs[1]
    copied = stream(2 * op.written_bytes, matrix[0], op.compute_dtype)
    return (copied, work("gemm", op.compute_dtype, m=matrix[0], k=matrix[1], n=1))


def dot(op: Operation) -> Works:
    """cuBLAS dot: a partial and a final reduction."""
    return (stream(op.read_bytes, numel(op.inputs[0]), op.compute_dtype, kernels=2),)


def outer(op: Operation) -> Works:
    """addr: one pointwise kernel over the result."""
    size = numel(op.outputs[0]) if op.outputs else op.size
    return (stream(op.read_bytes + op.written_bytes, size, op.compute_dtype),)


def linear(op: Operation) -> Works:
    """(…, k) times a weight kept as (n, k), bias in the epilogue."""
    x, weight = op.inputs[:2]
    return (work("linear", product_dtype(op), m=numel(x[:-1]), k=x[-1], n=weight[0], trans_b=1),)


def linear_backward(op: Operation) -> Works:
    """Gradients of input, weight and bias: two products and one sum."""
    x, grad, weight = op.inputs[:3]
    rows, (n, k) = numel(x[:-1]), weight
    dtype = product_dtype(op)
    return (
        work("gemm", dtype, m=rows, k=n, n=k),
        work("gemm", dtype, m=n, k=rows, n=k, trans_a=1),
        stream(op.input_bytes(1), numel(grad), op.compute_dtype),
    )


def trilinear(op: Operation) -> Works:
    """`_trilinear` (bilinear layers) multiplies and sums over the broadcast of its three operands."""
    size = numel(max(axis) for axis in zip(*op.inputs[:3], strict=False))
    return (stream(3 * size * 4 + op.written_bytes, size, op.compute_dtype, kernels=3),)


PRODUCTS: dict[str, Callable[[Operation], Works]] = {
    "mm": mm,
    "_scaled_mm": mm,
    "_int_mm": mm,
    "matmul": mm,
    "addmm": addmm,
    "_addmm_activation": addmm,
    "bmm": bmm,
    "baddbmm": baddbmm,
    "addbmm": addbmm,
    "mv": mv,
    "addmv": addmv,
    "dot": dot,
    "vdot": dot,
    "addr": outer,
    "outer": outer,
    "ger": outer,
    "linear": linear,
    "linear_backward": linear_backward,
    "_trilinear": trilinear,
}
