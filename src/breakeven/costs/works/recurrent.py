"""Recurrent layers: one fused cuDNN call forward and one backward, and the fused cells.

How many kernels a call launches is read off ATen/native/cudnn/RNN.cpp (`get_algo`, `use_rnn_persist_small_h`): small hidden
states run all time steps in one persistent kernel; otherwise cuDNN launches a product and a pointwise kernel per time step,
layer and direction. That they are launched by the host inside the call matters to the host's time, not to the device's price.
"""

from __future__ import annotations

from collections.abc import Callable

from breakeven.costs.works.records import Operation, Works, numel, stream, work

#: Largest hidden size of cuDNN's small persistent kernels (RNN.cpp `use_rnn_persist_small_h`, cuDNN >= 8.2.1): forward, backward.
_SMALL_HIDDEN = {"rnn": (384, 256), "lstm": (192, 128), "gru": (192, 128)}


def recurrent(op: Operation) -> Works:
    """`cudnn::rnn`, `cudnn::lstm`, `cudnn::gru` and their `_backward`, from their attributes."""
    name = op.name.split("::")[-1]
    backward = name.endswith("_backward")
    cell = name.removesuffix("_backward")
    at = {key: int(op.attributes.get(key) or default) for key, default in _ATTRIBUTES.items()}
    if op.attributes.get("packed") and op.attributes.get("tokens"):  # ragged: as many rows per step as there are tokens
        at["batch"] = max(1, -(-int(op.attributes["tokens"]) // at["timesteps"]))
    kernels = _kernels(cell, backward, at["hidden"], at["timesteps"], at["layers"] * (2 if at["bidirectional"] else 1))
    dtype = "tf32" if op.compute_dtype == "float32" and op.attributes.get("allow_tf32", True) else op.compute_dtype
    return (work(cell, dtype, "backward" if backward else "forward", kernels=kernels, **at),)


def _kernels(cell: str, backward: bool, hidden: int, timesteps: int, chains: int) -> int:
    products = 3 if backward else 1  # the input's product; backward also the weights' and the inputs' gradients
    if hidden <= _SMALL_HIDDEN[cell][backward]:
        return chains * (products + 1)
    return chains * (products + 2 * timesteps)


def cell(op: Operation) -> Works:
    """`_thnn_fused_lstm_cell`, `_thnn_fused_gru_cell`, forward and backward: one pointwise kernel over the gates."""
    return (stream(op.read_bytes + op.written_bytes, numel(op.outputs[0]) if op.outputs else op.size, op.compute_dtype),)


def cell_backward(op: Operation) -> Works:
    """One pointwise kernel, and a sum over the batch for the biases."""
    size = max((numel(s) for s in op.outputs), default=op.size)
    gates = size * 4
    return (
        stream(op.read_bytes + op.written_bytes, size, op.compute_dtype),
        stream(gates, size, op.compute_dtype),
    )


_ATTRIBUTES = {"hidden": 1, "input": 1, "layers": 1, "bidirectional": 0, "batch": 1, "timesteps": 1}

#: By whole name: these are the only operations outside `aten::` that run kernels and are no copies.
RECURRENT: dict[str, Callable[[Operation], Works]] = {
    f"cudnn::{cell_name}{suffix}": recurrent for cell_name in ("rnn", "lstm", "gru") for suffix in ("", "_backward")
}

CELLS: dict[str, Callable[[Operation], Works]] = {
    "_thnn_fused_lstm_cell": cell,
    "_thnn_fused_gru_cell": cell,
    "_thnn_fused_lstm_cell_backward": cell_backward,
    "_thnn_fused_lstm_cell_backward_impl": cell_backward,
    "_thnn_fused_gru_cell_backward": cell_backward,
}
