"""Floating-point operations and bytes of a `Work`: the least that any implementation does, a multiply-add counted as two.

Sources: DeepBench's counts (products 2 m n k; convolutions 2 n k oh ow c r s; recurrent layers gates x 2 hidden (hidden + input)
per step, backward twice that), NeuSight's for rows and pointwise. Bytes: every operand once, results once (no cache re-reads).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from breakeven.costs.works.records import Work, item_size

_GATES = {"rnn": 1, "gru": 3, "lstm": 4}
#: Backward over forward: products and recurrent layers compute two gradients, each as much as the forward.
_BACKWARD = {"forward": 1, "backward_inputs": 1, "backward_params": 1, "backward": 2, "both": 3}


@dataclass(frozen=True)
class Effort:
    """Arithmetic and traffic of one `Work`, all its repetitions together."""

    flops: float
    bytes: float


def effort(work: Work) -> Effort:
    """Flops and bytes of a `Work`.

    >>> from breakeven.costs.works.records import work as w
    >>> effort(w("gemm", m=2, n=3, k=4))
    Effort(flops=48.0, bytes=104.0)
    """
    flops, nbytes = _FORMULAS[work.op](work)
    return Effort(float(flops * work.count), float(nbytes * work.count))


def _product(work: Work) -> tuple[int, int]:
    b, m, n, k = (work.size(c) for c in ("b", "m", "n", "k"))
    times = _BACKWARD[work.direction]
    bias = n if work.op == "linear" else 0
    return times * 2 * b * m * n * k, times * (b * (m * k + k * n + m * n) + bias) * item_size(work.dtype)


def _convolution(work: Work) -> tuple[int, int]:
    n, c, h, w, k, r, s = (work.size(x) for x in ("n", "c", "h", "w", "k", "r", "s"))
    out_h = max(1, (h + 2 * work.size("pad_h", 0) - r) // work.size("stride_h") + 1)
    out_w = max(1, (w + 2 * work.size("pad_w", 0) - s) // work.size("stride_w") + 1)
    times = _BACKWARD[work.direction]
    nbytes = (n * c * h * w + k * c * r * s + n * k * out_h * out_w) * item_size(work.dtype)
    return times * 2 * n * k * out_h * out_w * c * r * s, times * nbytes


def _recurrent(work: Work) -> tuple[int, int]:
    hidden, batch, steps = work.size("hidden"), work.size("batch"), work.size("timesteps")
    layers, ways = work.size("layers"), 2 if work.size("bidirectional", 0) else 1
    first = work.size("input", 0)
    inputs = ways * (first + (layers - 1) * hidden * ways)
    chains = ways * layers
    weights = _GATES[work.op] * hidden * (chains * hidden + inputs)
    times = _BACKWARD[work.direction]
    activations = steps * batch * (first + 2 * hidden * chains)
    return times * 2 * batch * steps * weights, times * (weights + activations) * item_size(work.dtype)


def _pointwise(work: Work) -> tuple[int, int]:
    elements = work.size("elements")
    return elements, (work.size("inputs") + 1) * elements * item_size(work.dtype)


def _rows(work: Work) -> tuple[int, int]:
    elements = work.size("rows") * work.size("cols")
    tensors = 3 if work.direction == "backward" else 2
    return 5 * elements, tensors * elements * item_size(work.dtype)


def _copy(work: Work) -> tuple[int, int]:
    return 0, (2 if work.op == "copy_d2d" else 1) * work.size("bytes")


def _stream(work: Work) -> tuple[int, int]:
    return work.size("elements"), work.size("bytes")


_FORMULAS: dict[str, Callable[[Work], tuple[int, int]]] = {
    **dict.fromkeys(("gemm", "bmm", "linear"), _product),
    "conv2d": _convolution,
    **dict.fromkeys(_GATES, _recurrent),
    **dict.fromkeys(("add", "mul", "div", "pow", "relu", "gelu", "tanh", "sigmoid"), _pointwise),
    **dict.fromkeys(("softmax", "layernorm"), _rows),
    **dict.fromkeys(("copy_h2d", "copy_d2h", "copy_d2d"), _copy),
    "stream": _stream,
}
