"""The arithmetic of a step, counted from shapes: multiplications and additions of products, convolutions, recurrences.

What is left out (activations, normalisation, the optimizer) is a few operations for each element; it is bound by memory, not by
arithmetic.
"""

from __future__ import annotations

import math
from typing import Final

from breakeven.machine.records import Gpu
from breakeven.models.kinds import Attention, Computed, Convolution, Dense, Recurrent
from breakeven.models.learnables import learnables
from breakeven.models.network import Layer, Model, Network

#: A product forward needs two of its size backward: one for what goes in, one for the weights.
TRAINING: Final = 3


def step_flops(model: Model) -> float:
    """Floating-point operations of one step, of all samples of a batch: forward, and backward where it is trained."""
    passes = TRAINING if model.training.learns else 1
    return passes * model.batch * sum(forward_flops(model.network, layer) for layer in model.network.layers)


def at_peak_ms(flops: float, gpu: Gpu) -> float | None:
    """Milliseconds that so many operations in float32 need at a GPU's peak; None: there are none, or its peak is not known."""
    return flops / (gpu.fp32_tflops * 1e9) if flops and gpu.fp32_tflops else None


def in_millions(flops: float) -> str:
    """So many operations, in words.

    >>> in_millions(61.1e6), in_millions(3072)
    ('61 million operations', '0.0031 million operations')
    """
    return f"{flops / 1e6:,.0f} million operations" if flops >= 1e7 else f"{flops / 1e6:.2g} million operations"


def forward_flops(network: Network, layer: Layer) -> float:
    """Floating-point operations of one sample in one layer, forward; 2 for each multiplication with its addition."""
    fed, given, kind = network.fed(layer), network.shapes[layer.name], layer.kind
    if isinstance(kind, Computed):
        return kind.flops
    if not isinstance(kind, Convolution | Dense | Recurrent | Attention):
        return 0.0
    arrays = learnables(kind, fed)
    weights = float(sum(math.prod(a) for name, a in arrays.items() if name.endswith("weights")))
    steps = float(fed[0].time or 1)
    if isinstance(kind, Convolution):
        at = fed[0] if kind.transposed else given
        places = float(at.time or 1) if kind.over == "time" else math.prod(at.spatial) * steps
        return 2.0 * weights * places
    if isinstance(kind, Attention):
        keys = fed[1].channels if len(fed) > 1 else kind.keys
        values = fed[2].channels if len(fed) > 2 else kind.values or kind.keys
        return 2.0 * steps * (weights + steps * (keys + values))
    return 2.0 * weights * steps
