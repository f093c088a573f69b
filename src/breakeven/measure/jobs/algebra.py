"""Jobs of one operation: a product, an addition, attention, and the smallest thing that can be asked for."""

from __future__ import annotations

import torch

from breakeven.measure.jobs.job import Asked, Job

_BATCH, _HEADS, _WIDTH = 8, 8, 64


def matmul(asked: Asked) -> Job:
    """Product of two square matrices: 2 n^3 operations."""
    n, kind = asked.size, asked.torch_dtype()
    a, b = torch.randn(n, n, device=asked.device).to(kind), torch.randn(n, n, device=asked.device).to(kind)
    return Job(lambda: a @ b, flops=2.0 * n**3)


def elementwise(asked: Asked) -> Job:
    """Sum of two vectors into a third: two read, one written."""
    kind = asked.torch_dtype()
    a = torch.ones(asked.size, device=asked.device, dtype=kind)
    b, out = torch.ones_like(a), torch.empty_like(a)
    return Job(lambda: torch.add(a, b, out=out), flops=float(asked.size), moved=3.0 * asked.size * a.element_size())


def launch(asked: Asked) -> Job:
    """One operation on next to nothing: what is left is Python, dispatch and the launch."""
    a = torch.ones(asked.size, device=asked.device, dtype=asked.torch_dtype())
    return Job(lambda: a.add_(1))


def attention(asked: Asked) -> Job:
    """Scaled dot-product attention, forward: two products of positions by positions by width for each head."""
    shape = (_BATCH, _HEADS, asked.size, _WIDTH)
    q, k, v = (torch.randn(shape, device=asked.device).to(asked.torch_dtype()) for _ in range(3))
    flops = 4.0 * _BATCH * _HEADS * asked.size**2 * _WIDTH
    return Job(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v), flops=flops)
