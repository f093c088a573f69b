"""Pointwise operations: one kernel that reads every operand once and writes the result.

Source: ATen/native/cuda/Loops.cuh (`gpu_kernel`): one launch per call, operands broadcast by stride. Formulas' arithmetic
is not counted: at one to some tens of flops per element all of them are bound by memory on every device of the catalog.
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.records import PRICED_DTYPES, Operation, Work, Works, numel, stream, words, work


def pointwise(op: Operation) -> Works:
    """Any pointwise call by its bytes."""
    return (by_bytes(op),) if op.size else ()


def masked_fill(op: Operation) -> Works:
    """Out of place the tensor is cloned first."""
    if op.name.endswith("_") or not op.size:
        return pointwise(op)
    return (stream(2 * op.written_bytes, op.size, op.compute_dtype), by_bytes(op))


def by_bytes(op: Operation) -> Work:
    """One kernel that reads all inputs and writes all outputs."""
    return stream(op.read_bytes + op.written_bytes, max((numel(s) for s in op.outputs), default=op.size), op.compute_dtype)


def _measured_unary(name: str) -> Callable[[Operation], Works]:
    """relu, gelu, tanh, sigmoid: operations with measurements of their own."""

    def price(op: Operation) -> Works:
        if not op.size:
            return ()
        if op.compute_dtype not in PRICED_DTYPES:
            return (by_bytes(op),)
        return (work(name, op.compute_dtype, elements=op.size),)

    return price


def _measured_binary(name: str) -> Callable[[Operation], Works]:
    """add, mul, div, pow: with measurements of their own where operands are whole tensors or scalars of one dtype."""

    def price(op: Operation) -> Works:
        if not op.size:
            return ()
        whole = [shape for shape in op.inputs if numel(shape) == op.size]
        small = [shape for shape in op.inputs if 1 < numel(shape) < op.size]
        mixed = any(dtype != op.compute_dtype for dtype in op.input_dtypes)
        if small or mixed or op.compute_dtype not in PRICED_DTYPES or not 1 <= len(whole) <= 2:
            return (by_bytes(op),)
        return (work(name, op.compute_dtype, elements=op.size, inputs=len(whole)),)

    return price


_UNARY = words(
    """
    abs acos acosh angle asin asinh atan atanh bitwise_not ceil conj_physical _conj_physical cos cosh deg2rad digamma elu
    erf erfc erfinv exp exp2 expm1 floor frac frexp hardshrink hardsigmoid hardswish hardtanh i0 isfinite isinf isnan
    isneginf isposinf leaky_relu lgamma log log10 log1p log2 log_sigmoid_forward logical_not logit mish mvlgamma
    nan_to_num neg polygamma _amp_update_scale rad2deg reciprocal relu6 round rrelu_with_noise rsqrt celu selu sgn sign signbit
    silu sin sinc sinh softplus softshrink sqrt square tan threshold trunc special_airy_ai special_bessel_j0
    special_bessel_j1 special_bessel_y0 special_bessel_y1 special_entr special_erfcx special_i0e special_i1 special_i1e
    special_log_ndtr special_ndtri special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0
    special_modified_bessel_k1 special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1
    special_spherical_bessel_j0 special_zeta alpha_dropout quantize_per_tensor dequantize glu
    """
)

_BINARY_AND_MORE = words(
    """
    add_relu _add_relu addcdiv addcmul atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor
    clamp clamp_max clamp_min clip complex polar copysign eq floor_divide fmax fmin fmod gcd ge gt heaviside hypot igamma
    igammac lcm ldexp le lerp logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum minimum ne nextafter
    remainder where xlogy special_xlog1py _masked_scale fill_diagonal prelu _prelu_kernel __and__ __or__
    __xor__ __lshift__ __rshift__ __iand__ __ior__ __ixor__ special_chebyshev_polynomial_t special_chebyshev_polynomial_u
    special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p
    isclose _efficientzerotensor
    """
)

_BACKWARD = words(
    """
    elu_backward gelu_backward glu_backward hardshrink_backward hardsigmoid_backward hardswish_backward hardtanh_backward
    leaky_relu_backward log_sigmoid_backward logit_backward mish_backward _prelu_kernel_backward rrelu_with_noise_backward
    sigmoid_backward silu_backward softplus_backward softshrink_backward tanh_backward threshold_backward
    native_dropout_backward
    """
)

POINTWISE: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys((*_UNARY, *_BINARY_AND_MORE, *_BACKWARD), pointwise),
    **{name: _measured_unary(name) for name in ("relu", "gelu", "tanh", "sigmoid")},
    **{name: _measured_binary(name) for name in ("add", "mul", "div", "pow")},
    "masked_fill": masked_fill,
    "sub": _measured_binary("add"),
    "rsub": _measured_binary("add"),
    "multiply": _measured_binary("mul"),
    "true_divide": _measured_binary("div"),
}
