"""Fused scaled-dot-product attention, as the arithmetic of its products on one kernel's traffic.

No public sweep of attention by shape is at hand, so its price is that of one large product of the same arithmetic, with an
interval widened by what is published: FlashAttention-2 reaches 50 to 73 % of an A100's peak forward and about 80 % of that
backward, large products 70 to 85 % (Dao, "FlashAttention-2", arXiv 2307.08691, section 4.1; forward counts 4 s^2 d h b
flops, backward 2.5 times that).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from breakeven.costs.works.products import product_dtype
from breakeven.costs.works.records import Operation, Works, numel, stream, words, work

#: Arithmetic that a fused kernel takes as long for as a product for 1 (0.8 / 0.6 of peak, figures above).
_SLOWER = 1.3
_SPREAD = 1.5
_BACKWARD_FLOPS = 2.5


def attention(op: Operation) -> Works:
    """Forward: query (b, h, s, d) against keys (b, h, t, d)."""
    query, key, value = op.inputs[:3]
    return _fused(op, query, key, value, 1.0, kernels=1)


def attention_backward(op: Operation) -> Works:
    """Backward: gradients of query, key and value; a preparing kernel (rowwise dot) goes first."""
    _, query, key, value = op.inputs[:4]
    prepared = stream(2 * op.input_bytes(0), numel(query), op.compute_dtype)
    return (prepared, *_fused(op, query, key, value, _BACKWARD_FLOPS, kernels=1))


def _fused(
    op: Operation, query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], factor: float, kernels: int
) -> Works:
    rows, keys, depth, values = numel(query[:-1]), key[-2] if len(key) > 1 else 1, query[-1], value[-1]
    causal = 0.5 if op.attributes.get("is_causal") and query[-2] == keys else 1.0
    products = rows * keys * (depth + values) * factor * causal * _SLOWER  # multiply-adds
    if products <= 0:
        return ()
    side = max(1, ceil((products) ** (1 / 3)))
    return (work("gemm", product_dtype(op), kernels=kernels, spread=_SPREAD, m=side, n=side, k=side),)


_NAMES = words(
    """
    _scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
    _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_fused_attention_overrideable _flash_attention_forward
    _efficient_attention_forward _cudnn_attention_forward scaled_dot_product_attention _scaled_dot_product_attention_math
    """
)

ATTENTION: dict[str, Callable[[Operation], Works]] = {
    **dict.fromkeys(_NAMES, attention),
    **dict.fromkeys(
        (
            *(f"{name}_backward" for name in _NAMES),
            "_flash_attention_backward",
            "_efficient_attention_backward",
            "_cudnn_attention_backward",
        ),
        attention_backward,
    ),
}
