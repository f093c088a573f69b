"""Weights of Keras and of ONNX put into the network that was written for them, and what it computes with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from breakeven.models.check import identifier
from breakeven.models.network import Model
from breakeven.models.torch_script import _MODULE, _TAKEN
from tests.models.scripts import module

Array = np.ndarray[Any, Any]  # Any: whatever an archive holds


def network(model: Model) -> tuple[Any, dict[str, str]]:  # Any: a torch module, made by text
    """The written module, and the attribute of each layer."""
    made = module(model).eval()
    names: dict[str, str] = {}
    for layer in model.network.layers:
        names[layer.name] = identifier(layer.name, {*names.values(), *_TAKEN, *_MODULE})
    return made, names


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.array(array))  # a copy: what protobuf holds cannot be written to


def _put(target: Any, array: Array) -> None:  # Any: a parameter
    with torch.no_grad():
        assert tuple(target.shape) == array.shape, (tuple(target.shape), array.shape)
        target.copy_(_tensor(array))


def _kernel(array: Array) -> Array:
    """Keras: (window…, in, out); PyTorch: (out, in, window…)."""
    return np.moveaxis(array, (-1, -2), (0, 1))


def _depth(array: Array) -> Array:
    """Keras: (window…, in, times); PyTorch: (in·times, 1, window…)."""
    window = array.shape[:-2]
    return np.moveaxis(array.reshape(*window, -1), -1, 0)[:, None]


def _swapped(array: Array) -> Array:
    """A GRU's gates: update, reset, new there; reset, update, new here."""
    z, r, h = np.split(array, 3, -1)
    return np.concatenate([r, z, h], -1)


def put(target: Any, kind: str, arrays: Mapping[str, Array]) -> None:  # Any: a torch module
    """One layer's arrays, by the names that Keras gives them."""
    get = arrays.get
    if kind == "PReLU":
        _put(target, arrays["alpha"])
    elif kind == "RMSNormalization":
        _put(target, arrays["scale"])
    elif kind == "Embedding":
        _put(target.weight, arrays["embeddings"])
    elif type(target).__name__ == "Loop":
        _put(target.kernel, arrays["kernel"])
        _put(target.recurrent_kernel, arrays["recurrent_kernel"])
        if "bias" in arrays:
            _put(target.bias, arrays["bias"])
    elif kind in ("LSTM", "GRU"):
        turned = _swapped if kind == "GRU" else lambda a: a
        _put(target.weight_ih_l0, turned(arrays["kernel"]).T)
        _put(target.weight_hh_l0, turned(arrays["recurrent_kernel"]).T)
        bias = turned(arrays["bias"])
        _put(target.bias_ih_l0, bias if bias.ndim == 1 else bias[0])
        _put(target.bias_hh_l0, np.zeros_like(bias) if bias.ndim == 1 else bias[1])
    elif kind.startswith("SeparableConv"):
        _put(target[0].weight, _depth(arrays["depthwise_kernel"]))
        _put(target[1].weight, _kernel(arrays["pointwise_kernel"]))
        _put(target[1].bias, arrays["bias"])
    elif kind == "MultiHeadAttention":
        for ours, theirs in (("query", "query"), ("key", "key"), ("value", "value"), ("out", "attention_output")):
            kernel, bias = arrays[f"{theirs}/kernel"], arrays[f"{theirs}/bias"]
            flat = kernel.reshape(-1, kernel.shape[-1]) if ours == "out" else kernel.reshape(kernel.shape[0], -1)
            _put(getattr(target, ours).weight, flat.T)
            _put(getattr(target, ours).bias, bias.reshape(-1))
    else:
        weight = get("kernel", get("gamma"))
        if weight is not None:
            if kind.startswith("DepthwiseConv"):
                weight = _depth(weight)
            elif weight.ndim > 1:
                weight = _kernel(weight)
            _put(target.weight, weight)
        for ours, theirs in (
            ("bias", "bias"),
            ("bias", "beta"),
            ("running_mean", "moving_mean"),
            ("running_var", "moving_variance"),
        ):
            if theirs in arrays:
                _put(getattr(target, ours), arrays[theirs])


def outputs(made: Any, inputs: list[Array]) -> Array:  # Any: a torch module
    """What the written network computes."""
    with torch.no_grad():
        given = made(*(_tensor(a) for a in inputs))
    return np.asarray(given.numpy())


#: ONNX's order of gates → PyTorch's: input, output, forget, cell; update, reset, new.
_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def put_onnx(made: Any, name: str, node: Any, stored: Mapping[str, Array]) -> None:  # Any: a torch module; protobuf's message
    """One node's stored arrays: parameters are called after the layer and the input's place."""
    if node.op_type in _ORDER:
        _put_gates(getattr(made, name), node, stored)
        return
    for at, given in enumerate(node.input):
        target = getattr(made, f"{name}_{at}", None)
        if target is not None and given in stored:
            _put(target, stored[given])


def _put_gates(target: Any, node: Any, stored: Mapping[str, Array]) -> None:  # Any: as above
    order = _ORDER[node.op_type]
    for way, suffix in zip(range(len(stored[node.input[1]])), ("", "_reverse"), strict=False):
        bias = stored[node.input[3]][way] if len(node.input) > 3 and node.input[3] else np.zeros(0)
        parts = {"weight_ih": stored[node.input[1]][way], "weight_hh": stored[node.input[2]][way]}
        parts |= dict(zip(("bias_ih", "bias_hh"), np.split(bias, 2), strict=True)) if bias.size else {}
        for which, array in parts.items():
            gates = np.split(array, len(order))
            _put(getattr(target, f"{which}_l0{suffix}"), np.concatenate([gates[one] for one in order]))
